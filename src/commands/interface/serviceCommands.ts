import { Argument, type Command, Option } from 'commander'
import { define, jsonOption } from './define.ts'

export function addServiceCommands(program: Command): void {
  define(program, 'serve', 'start the service', {
    description:
      'Starts the service. Settings such as PORT and HOST come from the environment: see docs/guides/running.md. Creates the database if there is none. SIGTERM and Ctrl-C stop it.',
    examples: [
      ['petstore serve', 'Start on port 8080, with the database in ./data.'],
      [
        'PORT=3000 PETSTORE_DATA_DIR=/var/lib/petstore petstore serve',
        'Start with another port and data folder.',
      ],
    ],
    load: () => import('../serve.ts'),
  }).addOption(jsonOption('print the addresses, and a new operator key, as one line of JSON'))

  define(program, 'migrate', 'migrate the database schema', {
    description:
      'Migrates the schema of the database to this version, and creates the database if there is none. "serve" does this at its start unless PETSTORE_AUTO_MIGRATE is false. Several can run at the same time. A migration cannot be undone: make a backup first.',
    examples: [['petstore migrate', 'Migrate the database that the settings name.']],
    load: () => import('../migrate.ts'),
  }).addOption(jsonOption())

  define(program, 'openapi', 'print the OpenAPI description', {
    description: 'Prints the OpenAPI 3.1 description of the API as indented JSON. It needs no database.',
    examples: [
      ['petstore openapi --output openapi.json', 'Write it to a file.'],
      ['petstore openapi --yaml', 'Print it as YAML.'],
    ],
    load: () => import('../openapi.ts'),
    isPublic: true,
  })
    .addOption(new Option('--yaml', 'print YAML').conflicts('json'))
    .addOption(jsonOption('print JSON on one line'))
    .option('--output <file>', 'write to this file instead of standard output')

  define(program, 'completion', 'print a script for shell completion', {
    description: 'Prints a script that completes commands and options of petstore in your shell.',
    examples: [
      ['source <(petstore completion bash)', 'Complete in this shell. Add the line to ~/.bashrc to keep it.'],
      ['petstore completion zsh > ~/.zfunc/_petstore', 'For zsh, with ~/.zfunc in $fpath before compinit.'],
      ['petstore completion fish > ~/.config/fish/completions/petstore.fish', 'For fish.'],
    ],
    load: () => import('./completionScripts.ts'),
    isPublic: true,
  }).addArgument(new Argument('<shell>', 'the shell').choices(['bash', 'zsh', 'fish']))

  define(program, 'doctor', 'check configuration, disk and database', {
    description:
      'Checks the configuration, the data folder and its disk, the database, the clock, file permissions and the port, and says what to do about each problem. It changes nothing, except that it writes and removes a small file in the data folder. The exit code is 1 if there is a problem, and 0 if there are only warnings.',
    examples: [
      ['petstore doctor', 'Check the installation that the settings name.'],
      ['petstore doctor --json', 'Print the findings for a script.'],
    ],
    load: () => import('../doctor.ts'),
  }).addOption(jsonOption())
}
