// Loads the extension with stand-ins for what only VS Code has, starts it, and clicks on a lens. With the
// path of the program as an argument, that is started and asked for its capabilities, too.
'use strict';

const assert = require('node:assert');
const fs = require('node:fs');
const Module = require('node:module');
const path = require('node:path');

const root = path.join(__dirname, '..');
const sent = [];
const commands = new Map();
let options;
const nothing = { dispose() {} };
const stand_ins = {
  vscode: {
    workspace: {
      getConfiguration: () => ({ get: (key, other) => (key === 'definitions' ? { N: 3, ON: null } : other) }),
      onDidChangeConfiguration: () => nothing,
      saveAll: async () => true,
    },
    window: {
      createTerminal: () => ({ show() {}, sendText: (text) => sent.push(text) }),
      showWarningMessage: (text) => sent.push(text),
      activeTextEditor: { document: { uri: { fsPath: '/m/it is.pml' } } },
    },
    commands: { registerCommand: (name, run) => (commands.set(name, run), nothing) },
  },
  'vscode-languageclient/node': {
    LanguageClient: class {
      constructor(id, name, server, client) {
        options = { server, client };
      }
      async start() {}
      async stop() {}
    },
  },
};
const load = Module._load;
Module._load = (name, ...rest) => stand_ins[name] ?? load(name, ...rest);

async function main() {
  const read = (name) => JSON.parse(fs.readFileSync(path.join(root, name), 'utf8'));
  const manifest = read('package.json');
  for (const grammar of manifest.contributes.grammars) {
    const rules = JSON.stringify(read(grammar.path));
    for (const [, pattern] of rules.matchAll(/"(?:match|begin|end)":("(?:[^"\\]|\\.)*")/g)) {
      new RegExp(JSON.parse(pattern));
    }
    assert.strictEqual(read(grammar.path).scopeName, grammar.scopeName);
  }
  for (const language of manifest.contributes.languages) {
    read(language.configuration);
  }

  const extension = require(path.join(root, manifest.main));
  await extension.activate({ subscriptions: [] });
  assert.deepStrictEqual(options.server, { command: 'stubborn', args: ['lsp'] });
  assert.deepStrictEqual(options.client.initializationOptions, { definitions: { N: 3, ON: null } });
  for (const command of manifest.contributes.commands) {
    assert(commands.has(command.command), command.command);
  }
  const { executeCommand } = options.client.middleware;
  await executeCommand('stubborn.run', ['check', '/m/a.dve', '--property', "assertion in P.x"], assert.fail);
  await executeCommand('stubborn.page', ['serve'], (name, words) => sent.push([name, words]));
  await commands.get('stubborn.checkFile')();
  assert.deepStrictEqual(sent, [
    "stubborn check /m/a.dve --property 'assertion in P.x'",
    ['stubborn.page', ['serve']],
    "stubborn check '/m/it is.pml' -DN=3 -DON",
  ]);
  await extension.deactivate();
  console.log('the extension loads');
}

main();
