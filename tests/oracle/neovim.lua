-- Drives the server as Neovim 0.7 does: attaches to a buffer, hovers, waits for diagnostics, takes an action, edits.
-- vim.lsp.start came with 0.8, so this is start_client and buf_attach_client. The answers are written as JSON.
local arguments = vim.fn.json_decode(vim.env.LAYOUTALG_NEOVIM)
local answers = {}
local function finish()
  vim.fn.writefile({ vim.fn.json_encode(answers) }, arguments.answers)
  vim.cmd("qa!")
end
local function wait_for(condition)
  return vim.wait(60000, condition, 20)
end
local function run()
  vim.cmd("edit " .. arguments.file)
  local buffer = vim.api.nvim_get_current_buf()
  local id = vim.lsp.start_client({ name = "layoutalg", cmd = arguments.command, root_dir = vim.fn.getcwd() })
  vim.lsp.buf_attach_client(buffer, id)
  local client
  assert(wait_for(function()
    client = vim.lsp.get_client_by_id(id)
    return client and client.initialized
  end), "not initialized")
  local function ask(method, parameters)
    local answer = assert(client.request_sync(method, parameters, 60000, buffer))
    assert(not answer.err, vim.inspect(answer.err))
    return answer.result
  end
  local document = { uri = vim.uri_from_bufnr(buffer) }
  local function diagnostics()
    return vim.tbl_map(function(one)
      return { line = one.lnum, column = one.col, code = one.code or vim.NIL, message = one.message }
    end, vim.diagnostic.get(buffer))
  end
  assert(wait_for(function() return #vim.diagnostic.get(buffer) > 0 end), "no diagnostics")
  answers.first = diagnostics()
  answers.hover = ask("textDocument/hover", { textDocument = document, position = arguments.hover }).contents.value
  local part = { start = arguments.action, ["end"] = arguments.action }
  local offered = ask("textDocument/codeAction", { textDocument = document, range = part, context = { diagnostics = {} } })
  answers.titles = vim.tbl_map(function(one) return one.title end, offered)
  for _, one in ipairs(offered) do
    if vim.startswith(one.title, arguments.title) then
      local resolved = ask("codeAction/resolve", one)
      vim.lsp.util.apply_workspace_edit(resolved.edit, client.offset_encoding)
      break
    end
  end
  answers.text = vim.api.nvim_buf_get_lines(buffer, 0, -1, false)
  assert(wait_for(function() return #vim.diagnostic.get(buffer) == 0 end), "diagnostics stay after the repair")
  vim.api.nvim_buf_set_lines(buffer, arguments.edit.line, arguments.edit.line, false, { arguments.edit.text })
  assert(wait_for(function() return #vim.diagnostic.get(buffer) > 0 end), "no diagnostics after the edit")
  answers.last = diagnostics()
end
local done, problem = pcall(run)
if not done then answers.problem = problem end
finish()
