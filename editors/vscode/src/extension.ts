// Starts `layoutalg lsp` and hands it MLIR, Triton and Python files. All answers are the server's.

import { commands, ExtensionContext, workspace } from "vscode";
import { LanguageClient, TransportKind } from "vscode-languageclient/node";

let client: LanguageClient | undefined;

function made(): LanguageClient {
  const settings = workspace.getConfiguration("layoutalg");
  const target = settings.get<string>("target", "");
  const args = ["lsp", "--llvm", String(settings.get<number>("llvm", 24)), ...(target ? ["--target", target] : [])];
  const command = settings.get<string>("command", "layoutalg");
  return new LanguageClient(
    "layoutalg",
    { command, args, transport: TransportKind.stdio },
    {
      documentSelector: [
        { scheme: "file", language: "mlir" },
        { scheme: "untitled", language: "mlir" },
        { scheme: "file", language: "python" },
      ],
    },
  );
}

async function restart(): Promise<void> {
  await client?.stop();
  client = made();
  await client.start();
}

export async function activate(context: ExtensionContext): Promise<void> {
  context.subscriptions.push(
    commands.registerCommand("layoutalg.restart", restart),
    workspace.onDidChangeConfiguration(async (changed) => {
      if (changed.affectsConfiguration("layoutalg")) {
        await restart();
      }
    }),
  );
  await restart();
}

export async function deactivate(): Promise<void> {
  await client?.stop();
}
