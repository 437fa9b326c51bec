import type { Command } from 'commander'
import { planNames } from '../../limits/plans.ts'
import type { ActionName } from '../keys.ts'
import { define, type Example, jsonOption, repeatable } from './define.ts'

/** Adds the subcommands of "petstore keys". */
export function addKeyCommands(program: Command): void {
  const keys = define(program, 'keys', 'manage API keys', {
    description: 'Manages API keys. A running server applies the changes within 2 seconds.',
    examples: [
      ['petstore keys list', 'Show all keys.'],
      ['petstore keys create --name "Web site" --plan pro', 'Create a key and print its secret.'],
    ],
  }).usage('<command> [options]')
  const add = (name: ActionName, summary: string, description: string, examples: readonly Example[]) => {
    const load = async () => ({ run: (await import('../keys.ts')).runAction(name) })
    return define(keys, name, summary, { description, examples, load })
  }
  const addWithId = (...definition: Parameters<typeof add>) =>
    add(...definition).argument('<id>', 'the id of the key')

  addSettings(
    add('create', 'create a key', 'Creates a key and prints its secret, which is shown only once.', [
      ['petstore keys create --name "Web site" --plan pro', 'A key with the default scopes.'],
      [
        'petstore keys create --name Reader --scope pets:read --expires-at 2027-01-31T12:00:00Z',
        'A key that can only read animals, and expires.',
      ],
      [
        'petstore keys create --name Page --origin https://example.com',
        'A publishable key, for pages of one origin.',
      ],
    ]),
  )
  const listDescription = 'Lists all keys, newest first. Secrets are not stored, so they cannot be shown.'
  add('list', 'list all keys', listDescription, [
    ['petstore keys list', 'Show a table.'],
    ['petstore keys list --json', 'Print one line of JSON for each key.'],
  ]).addOption(jsonOption('print one line of JSON for each key'))
  addSettings(
    addWithId('update', 'change a key', 'Changes the given settings of a key. All others stay.', [
      ['petstore keys update 7 --plan business', 'Change the plan.'],
      ['petstore keys update 7 --expires-at never', 'Remove the expiry.'],
    ]),
  )
  addWithId('revoke', 'revoke a key', 'Revokes a key. This is permanent.', [
    ['petstore keys revoke 7', 'Revoke key 7.'],
  ]).addOption(jsonOption())
  const rotateDescription = 'Gives a key a new secret and prints it. It is shown only once.'
  addWithId('rotate', 'replace the secret of a key', rotateDescription, [
    ['petstore keys rotate 7', 'The previous secret ends at once.'],
    ['petstore keys rotate 7 --overlap-seconds 3600', 'The previous secret works for one more hour.'],
  ])
    .option('--overlap-seconds <n>', 'time for which the previous secret stays valid (default: 0)')
    .addOption(jsonOption())
  const unbanDescription = 'Lifts the ban of a key that repeatedly exceeded its rate limit.'
  addWithId('unban', 'lift the ban of a key', unbanDescription, [
    ['petstore keys unban 7', 'Lift the ban of key 7.'],
  ]).addOption(jsonOption())
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
    .option('--expires-at <time>', 'such as 2027-01-31T12:00:00Z; with update, "never" removes the expiry')
    .addOption(jsonOption())
