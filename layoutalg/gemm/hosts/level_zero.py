"""A host in C for Level Zero: SPIR-V or a zebin, on the first device of the first driver.

>>> "zeModuleCreate" in level_zero(la.plan_gemm(64, 64, 64))
True
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from layoutalg.gemm.hosts.reference import READ_FILE, kernels_of, numbers_in_c, reference_of, scratch_of

if TYPE_CHECKING:
    from layoutalg.gemm.attention import Attention
    from layoutalg.gemm.plan import Gemm

__all__ = ["level_zero"]


def level_zero(plan: Gemm | Attention) -> str:
    """The text of the program."""
    launch = plan.launch
    name = launch.kernel
    scratch = scratch_of(plan)
    allocated = [(_ZEROED if one.zeros else _ALLOCATED).format(**one._asdict()) for one in scratch]
    return (
        f"/* {plan.problem}\n   Written by layoutalg. Usage: host [{name}.zebin or {name}.spv] */\n"
        "#include <level_zero/ze_api.h>\n"
        + reference_of(plan)
        + kernels_of(plan, "grid")
        + READ_FILE
        + _PROGRAM.replace("@FLAGS@", dict(launch.flags)["level-zero"])
        .replace("@KERNEL@", launch.kernel)
        .replace("@NUMBERS@", numbers_in_c(plan, {"i32": "int32_t", "i64": "int64_t"}))
        .replace("@SCRATCH@\n", "".join(allocated))
        .replace("@FREE@\n", "".join(f'  must(zeMemFree(context, {one.name}), "zeMemFree");\n' for one in scratch))
    )


_ALLOCATED = """\
  void *{name}; /* any bytes, kernels alone read it */
  must(zeMemAllocDevice(context, &of_memory, {bytes}, 64, device, &{name}), "zeMemAllocDevice");
  set(kernels, {place}, sizeof {name}, &{name});
"""
_ZEROED = """\
  const int32_t zero = 0;
  void *{name}; /* zeros, and again after each launch */
  must(zeMemAllocDevice(context, &of_memory, {bytes}, 64, device, &{name}), "zeMemAllocDevice");
  must(zeCommandListAppendMemoryFill(list, {name}, &zero, sizeof zero, {bytes}, NULL, 0, NULL),
       "zeCommandListAppendMemoryFill");
  must(zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
  set(kernels, {place}, sizeof {name}, &{name});
"""

_PROGRAM = r"""
static void must(ze_result_t code, const char *call) {
  if (code == ZE_RESULT_SUCCESS) return;
  fprintf(stderr, "%s: Level Zero error 0x%x\n", call, (unsigned)code);
  exit(2);
}

static void set(const ze_kernel_handle_t *kernels, uint32_t place, size_t size, const void *value) {
  for (int i = 0; i < KERNELS; i++)
    must(zeKernelSetArgumentValue(kernels[i], place, size, value), "zeKernelSetArgumentValue");
}

/* Each kernel begins when the one before has ended. */
static void launch(ze_command_list_handle_t list, const ze_kernel_handle_t *kernels) {
  for (int i = 0; i < KERNELS; i++) {
    const ze_group_count_t groups = {(uint32_t)grid[i][0], (uint32_t)grid[i][1], (uint32_t)grid[i][2]};
    if (i > 0) must(zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
    must(zeCommandListAppendLaunchKernel(list, kernels[i], &groups, NULL, 0, NULL), "zeCommandListAppendLaunchKernel");
  }
}

int main(int argc, char **argv) {
  const char *name = argc > 1 ? argv[1] : "@KERNEL@.zebin";
  const uint32_t spirv = 0x07230203;
  ze_driver_handle_t driver;
  ze_device_handle_t device;
  ze_context_handle_t context;
  ze_command_list_handle_t list;
  ze_module_handle_t module;
  ze_module_build_log_handle_t log = NULL;
  ze_kernel_handle_t kernels[KERNELS];
  ze_device_properties_t properties;
  uint32_t one = 1;
  size_t bytes = 0;
  unsigned char *data[MATRICES], *result, *binary = file(name, &bytes);
  void *memory[MATRICES];

  must(zeInit(ZE_INIT_FLAG_GPU_ONLY), "zeInit");
  must(zeDriverGet(&one, &driver), "zeDriverGet");
  if (one == 0) must(ZE_RESULT_ERROR_UNINITIALIZED, "zeDriverGet: no driver");
  one = 1;
  must(zeDeviceGet(driver, &one, &device), "zeDeviceGet");
  if (one == 0) must(ZE_RESULT_ERROR_UNINITIALIZED, "zeDeviceGet: no device");
  memset(&properties, 0, sizeof properties);
  properties.stype = ZE_STRUCTURE_TYPE_DEVICE_PROPERTIES;
  must(zeDeviceGetProperties(device, &properties), "zeDeviceGetProperties");
  printf("%s\n", properties.name);
  const ze_context_desc_t of_context = {ZE_STRUCTURE_TYPE_CONTEXT_DESC, NULL, 0};
  must(zeContextCreate(driver, &of_context, &context), "zeContextCreate");
  ze_command_queue_desc_t of_queue;
  memset(&of_queue, 0, sizeof of_queue);
  of_queue.stype = ZE_STRUCTURE_TYPE_COMMAND_QUEUE_DESC;
  of_queue.mode = ZE_COMMAND_QUEUE_MODE_SYNCHRONOUS;
  must(zeCommandListCreateImmediate(context, device, &of_queue, &list), "zeCommandListCreateImmediate");

  ze_module_desc_t of_module;
  memset(&of_module, 0, sizeof of_module);
  of_module.stype = ZE_STRUCTURE_TYPE_MODULE_DESC;
  of_module.format = memcmp(binary, &spirv, 4) == 0 ? ZE_MODULE_FORMAT_IL_SPIRV : ZE_MODULE_FORMAT_NATIVE;
  of_module.inputSize = bytes;
  of_module.pInputModule = binary;
  of_module.pBuildFlags = "@FLAGS@";
  const ze_result_t code = zeModuleCreate(context, device, &of_module, &module, &log);
  if (code != ZE_RESULT_SUCCESS && log != NULL) {
    static char words[16384];
    size_t length = sizeof words - 1;
    if (zeModuleBuildLogGetString(log, &length, words) == ZE_RESULT_SUCCESS) fprintf(stderr, "%s\n", words);
  }
  must(code, "zeModuleCreate");
  if (log != NULL) must(zeModuleBuildLogDestroy(log), "zeModuleBuildLogDestroy");
  for (int i = 0; i < KERNELS; i++) {
    const ze_kernel_desc_t of_kernel = {ZE_STRUCTURE_TYPE_KERNEL_DESC, NULL, 0, kernel_names[i]};
    must(zeKernelCreate(module, &of_kernel, &kernels[i]), "zeKernelCreate");
    must(zeKernelSetGroupSize(kernels[i], (uint32_t)workgroup[i][0], (uint32_t)workgroup[i][1], (uint32_t)workgroup[i][2]),
         "zeKernelSetGroupSize");
  }

  ze_device_mem_alloc_desc_t of_memory;
  memset(&of_memory, 0, sizeof of_memory);
  of_memory.stype = ZE_STRUCTURE_TYPE_DEVICE_MEM_ALLOC_DESC;
  for (int i = 0; i < MATRICES; i++) {
    data[i] = (unsigned char *)malloc(matrices[i].bytes);
    if (data[i] == NULL) must(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "malloc");
    fill(i, data[i]);
    must(zeMemAllocDevice(context, &of_memory, matrices[i].bytes, 64, device, &memory[i]), "zeMemAllocDevice");
    must(zeCommandListAppendMemoryCopy(list, memory[i], data[i], matrices[i].bytes, NULL, 0, NULL),
         "zeCommandListAppendMemoryCopy");
    set(kernels, (uint32_t)i, sizeof memory[i], &memory[i]);
  }
@SCRATCH@
@NUMBERS@

  launch(list, kernels);
  must(zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
  result = (unsigned char *)malloc(matrices[RESULT].bytes);
  if (result == NULL) must(ZE_RESULT_ERROR_OUT_OF_HOST_MEMORY, "malloc");
  must(zeCommandListAppendMemoryCopy(list, result, memory[RESULT], matrices[RESULT].bytes, NULL, 0, NULL),
       "zeCommandListAppendMemoryCopy");
  const int wrong = check((const unsigned char *const *)data, result);

  const double begin = now();
  for (int i = 0; i < LAUNCHES; i++) {
    launch(list, kernels);
    must(zeCommandListAppendBarrier(list, NULL, 0, NULL), "zeCommandListAppendBarrier");
  }
  printf("%.4f ms a launch, mean of %d\n", (now() - begin) / LAUNCHES, (int)LAUNCHES);

  for (int i = 0; i < MATRICES; i++) {
    must(zeMemFree(context, memory[i]), "zeMemFree");
    free(data[i]);
  }
@FREE@
  free(result);
  free(binary);
  for (int i = 0; i < KERNELS; i++) must(zeKernelDestroy(kernels[i]), "zeKernelDestroy");
  must(zeModuleDestroy(module), "zeModuleDestroy");
  must(zeCommandListDestroy(list), "zeCommandListDestroy");
  must(zeContextDestroy(context), "zeContextDestroy");
  return wrong;
}
"""
