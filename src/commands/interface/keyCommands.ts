import { type Command, Option } from 'commander'
import { planNames } from '../../limits/plans.ts'
import type { ActionName } from '../keys.ts'
import { define, jsonOption, repeatable } from './define.ts'

/** Adds the subcommands of "petstore keys". */
export function addKeyCommands(program: Command): void {
  const keys = define(program, {
    name: 'keys',
    summary: 'manage API keys',
    description: 'Manages API keys. A running server applies the changes within 2 seconds.',
    examples: [
      ['petstore keys list', 'Show all keys.'],
      ['petstore keys create --name "Web site" --plan pro', 'Create a key and print its secret.'],
    ],
  }).usage('<command> [options]')
  addSettings(
    define(keys, {
      name: 'create',
      summary: 'create a key',
      description: 'Creates a key and prints its secret, which is shown only once.',
      examples: [
        ['petstore keys create --name "Web site" --plan pro', 'A key with the default scopes.'],
        [
          'petstore keys create --name Reader --scope pets:read --expires-at 2027-01-31T12:00:00Z',
          'A key that can only read animals, and expires.',
        ],
        [
          'petstore keys create --name Page --origin https://example.com',
          'A publishable key, for pages of one origin.',
        ],
      ],
      load: load('create'),
    }),
  )
  define(keys, {
    name: 'list',
    summary: 'list all keys',
    description: 'Lists all keys, newest first. Secrets are not stored, so they cannot be shown.',
    examples: [
      ['petstore keys list', 'Show a table.'],
      ['petstore keys list --json', 'Print one line of JSON for each key.'],
    ],
    load: load('list'),
  }).addOption(jsonOption('print one line of JSON for each key'))
  addSettings(
    define(keys, {
      name: 'update',
      summary: 'change a key',
      description: 'Changes the given settings of a key. All others stay.',
      examples: [
        ['petstore keys update 7 --plan business', 'Change the plan.'],
        ['petstore keys update 7 --expires-at never', 'Remove the expiry.'],
      ],
      load: load('update'),
    }).argument('<id>', 'the id of the key'),
  )
  addStateChanges(keys)
}

/** Loads the action of a subcommand on demand. */
const load = (name: ActionName) => async () => {
  const { runAction } = await import('../keys.ts')
  return { run: runAction(name) }
}

function addStateChanges(keys: Command): void {
  define(keys, {
    name: 'revoke',
    summary: 'revoke a key',
    description: 'Revokes a key. This is permanent.',
    examples: [['petstore keys revoke 7', 'Revoke key 7.']],
    load: load('revoke'),
  })
    .argument('<id>', 'the id of the key')
    .addOption(jsonOption())
  define(keys, {
    name: 'rotate',
    summary: 'replace the secret of a key',
    description: 'Gives a key a new secret and prints it. It is shown only once.',
    examples: [
      ['petstore keys rotate 7', 'The previous secret ends at once.'],
      ['petstore keys rotate 7 --overlap-seconds 3600', 'The previous secret works for one more hour.'],
    ],
    load: load('rotate'),
  })
    .argument('<id>', 'the id of the key')
    .option('--overlap-seconds <n>', 'time for which the previous secret stays valid (default: 0)')
    .addOption(jsonOption())
  define(keys, {
    name: 'unban',
    summary: 'lift the ban of a key',
    description: 'Lifts the ban of a key that repeatedly exceeded its rate limit.',
    examples: [['petstore keys unban 7', 'Lift the ban of key 7.']],
    load: load('unban'),
  })
    .argument('<id>', 'the id of the key')
    .addOption(jsonOption())
}

/** The schemas of the API validate the values. */
const addSettings = (command: Command): Command =>
  command
    .option('--name <name>', 'name, 1 to 100 characters')
    .option('--plan <plan>', `${planNames.join(', ')} (default: free)`)
    .option('--per-minute <n>', 'requests per minute of an enterprise key')
    .option('--per-day <n>', 'requests per day of an enterprise key')
    .option('--streams <n>', 'concurrent event streams of an enterprise key')
    .addOption(repeatable('--scope <scope>', 'what the key may do, such as pets:read'))
    .addOption(repeatable('--origin <origin>', 'makes the key publishable and read-only'))
    .addOption(
      new Option(
        '--expires-at <time>',
        'such as 2027-01-31T12:00:00Z; with update, "never" removes the expiry',
      ),
    )
    .addOption(jsonOption())
