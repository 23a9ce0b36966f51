// Starts `stubborn lsp`, and runs what lenses ask for in a terminal, where people can read it.
'use strict';

const vscode = require('vscode');
const { LanguageClient } = require('vscode-languageclient/node');

/** @type {LanguageClient | undefined} */
let client;
/** @type {import('vscode').Terminal | undefined} */
let terminal;

function settings() {
  const all = vscode.workspace.getConfiguration('stubborn');
  return { path: all.get('path', 'stubborn'), definitions: all.get('definitions', {}) };
}

/**
 * Quotes a word for a terminal. Windows' shells know only double quotes.
 * @param {string} word
 */
function quoted(word) {
  if (/^[\w@%+=:,./-]+$/.test(word)) {
    return word;
  }
  return process.platform === 'win32' ? `"${word}"` : `'${word.replace(/'/g, "'\\''")}'`;
}

/**
 * Runs the program with these arguments in a terminal.
 * @param {string[]} words
 */
async function run(words) {
  // The program reads files, not what the editor has not written yet.
  await vscode.workspace.saveAll(false);
  const { path, definitions } = settings();
  const macros = Object.entries(definitions).map(([name, value]) =>
    value === null ? `-D${name}` : `-D${name}=${value}`,
  );
  const promela = words.some((word) => /\.(pml|prm|promela|spin|pr)$/.test(word));
  if (!terminal || terminal.exitStatus !== undefined) {
    terminal = vscode.window.createTerminal('stubborn');
  }
  terminal.show(true);
  terminal.sendText([path, ...words, ...(promela ? macros : [])].map(quoted).join(' '));
}

async function start() {
  const { path, definitions } = settings();
  client = new LanguageClient(
    'stubborn',
    'stubborn',
    { command: path, args: ['lsp'] },
    {
      documentSelector: [{ language: 'promela' }, { language: 'dve' }],
      initializationOptions: { definitions },
      middleware: {
        executeCommand: (command, words, next) =>
          command === 'stubborn.run' ? run(words) : next(command, words),
      },
    },
  );
  try {
    await client.start();
  } catch (error) {
    const hint = 'Set "stubborn.path" to the program, or put it into your path.';
    vscode.window.showWarningMessage(`stubborn does not start: ${error.message ?? error}. ${hint}`);
  }
}

/** @param {import('vscode').ExtensionContext} context */
async function activate(context) {
  context.subscriptions.push(
    vscode.commands.registerCommand('stubborn.restart', async () => {
      await deactivate();
      await start();
    }),
    vscode.commands.registerCommand('stubborn.checkFile', async () => {
      const document = vscode.window.activeTextEditor?.document;
      if (document) {
        await run(['check', document.uri.fsPath]);
      }
    }),
    vscode.workspace.onDidChangeConfiguration(async (event) => {
      if (event.affectsConfiguration('stubborn')) {
        await deactivate();
        await start();
      }
    }),
  );
  await start();
}

async function deactivate() {
  const old = client;
  client = undefined;
  await old?.stop().catch(() => {});
}

module.exports = { activate, deactivate };
