import { type Command, Option } from 'commander'
import { presetNames } from '../../imports/presetNames.ts'
import { dateOrders } from '../../imports/values/dates.ts'
import { define, type Example, jsonOption, repeatable } from './define.ts'

/** Adds the commands that read and write data in bulk. */
export function addDataCommands(program: Command): void {
  define(program, 'seed', 'add sample animals', {
    description:
      'Adds 24 sample animals with profiles and photos, and a few orders. The photos are drawings, and the customers are invented. Animals that are there already are not added again. With --count, adds any number of animals in six named categories, without profiles and photos; every run adds the same ones again. Creates the database if there is none.',
    examples: [
      ['petstore seed', 'Add sample animals to look at.'],
      ['petstore seed --count 1000', 'Add 1,000 animals without profiles.'],
    ],
    load: () => import('../seed.ts'),
  })
    .option('--count <n>', 'add this number of animals without profiles and photos')
    .addOption(jsonOption())
  addImport(program)
  addExport(program)
  addBackups(program)
}

const formatOption = (description: string): Option =>
  new Option('--format <format>', description).choices(['csv', 'ndjson'])

const importDescription = `Reads animals from a CSV file or an NDJSON file, or everything from a file of "petstore export". "-" or no file means standard input. Creates the database if there is none. The service can keep running.

NDJSON has one JSON object on each line, such as {"name":"Milo","categoryId":3,"status":"available"}.

CSV has a header. Columns with the usual headings, such as Name, Species, Breed, Sex, Date of birth or Good with dogs, are found by them, and --map names others: the guide "Move in" has the table. Values are read as people write them: the name of a category in place of its id, adoptable or reserved as status, yes and no in their usual spellings. Columns that are not used are listed. With a column categoryId, as in an export, the column id is the id of the animal here; otherwise it is the number of the animal in another system. Exports of other systems (--from) are recognized by their headings.

These lines of CSV are wrong: text follows the closing quotation mark of a cell; a cell ends with a quotation mark but does not begin with one; a quotation mark is not closed; a quoted cell contains lines that look like records, so a quotation mark is probably missing. A line looks like a record if it has as many cells as the header, with valid values.

An export writes ' before a text that a spreadsheet could treat as a formula. An import removes it.

A line with the id or the external id of an existing animal updates that animal. What the line leaves out stays as it is. Any other line adds an animal. An external id identifies the animal in another system. It is public: use an intake number, not a microchip. An animal with an open order keeps the status that the order gives it.

Every line is checked before anything is changed. A line is also wrong if it conflicts with the database or with another line: if another animal has its external id, for example, or if it is an open order and its animal has another one. If any line is wrong, nothing is imported and the exit code is 1, unless --skip-bad is given. The lines are then written in batches. An import that was interrupted continues after the last batch if it is started again with the same file and options.

Photos are imported after the animals, up to 20 for each. --photos fetches the addresses in the file over https, up to 10 MiB each, from public addresses and from those that PETSTORE_WEBHOOK_ALLOW lists. A photo is imported again only if its address, or its file in the folder, has changed, and imported photos that the file does not name any more are removed. Photos that cannot be imported are listed, and the exit code is then 3.

With --with-keys, an existing key (with the same secret, or the same id and creation time) is updated as the API could update it: it stays revoked, and expired secrets stay expired. Keys that can manage keys in this database are never changed. A key whose id belongs to another key gets a new id.

If the database is changed at the same time so that a line conflicts with it, the import stops. The lines before it stay imported.`

const importExamples: readonly Example[] = [
  ['petstore import animals.csv --dry-run', 'Show what would change, the columns, and every wrong line.'],
  ['petstore import animals.csv --create-categories --date-order mdy', 'Read a spreadsheet.'],
  [
    'petstore import shelter.csv --map "Nickname=name" --map "Mood=" --external-id "Intake"',
    'Read other headings, ignore "Mood", and identify animals by "Intake".',
  ],
  [
    'petstore import export.csv --from shelterluv --missing unlist --photos',
    'Read the export of another system, every night.',
  ],
  ['petstore import animals.csv --skip-bad --report wrong.csv', 'Import the correct lines only.'],
  ['petstore import animals.ndjson', 'Add or update animals.'],
  ['petstore export | DATABASE_URL=postgres://... petstore import --with-keys', 'Move all data.'],
]

function addImport(program: Command): void {
  const command = define(program, 'import', 'read data from CSV or NDJSON', {
    description: importDescription,
    examples: importExamples,
    load: () => import('../import.ts'),
  })
  command
    .argument('[file]', 'a file whose name ends in .csv or .ndjson, or - for standard input')
    .addOption(formatOption('format of the file, if its name does not tell'))
    .addOption(
      new Option(
        '--from <system>',
        'the system that exported the CSV; by default recognized by its headings',
      ).choices(presetNames),
    )
    .addOption(
      repeatable(
        '--map <header=field>',
        'read a CSV column as this field, or ignore it if the field is empty',
      ),
    )
    .option(
      '--external-id <column>',
      'CSV column, or NDJSON field, with the external id (default: externalId)',
    )
    .addOption(
      new Option('--date-order <order>', 'the order of the numbers in dates of CSV such as 5/1/2026').choices(
        [...dateOrders],
      ),
    )
    .option('--currency <code>', 'the currency of fees in CSV that have none, such as EUR')
    .option('--create-categories', 'add the categories that the CSV names and that do not exist')
    .addOption(
      new Option(
        '--missing <what>',
        'what to do with animals of the same system that the CSV does not have any more (default: keep)',
      ).choices(['keep', 'unlist']),
    )
    .option('--force', 'accept a CSV without animals, and one that unlists more than half of them')
    .option('--photos', 'fetch the photos whose addresses are in the CSV')
    .option('--photos-from <folder>', 'take the photos of the CSV from a folder, by the names of their files')
  addImportOutcome(command)
}

function addImportOutcome(command: Command): void {
  command
    .option('--dry-run', 'check all lines and show what would change, and change nothing')
    .option('--skip-bad', 'import the correct lines and list the others; the exit code is then 3')
    .option(
      '--report <file>',
      'write all wrong lines to this file. For a CSV import, the report is CSV: the wrong lines with the reason. If its name ends in .ndjson, .jsonl or .json, and for an NDJSON import, it has a JSON object with line and reason for each of them.',
    )
    .option(
      '--with-keys',
      'also import keys and counters, which an export contains unless it was made with --without-keys. Keys give access to this service: use it only for files that you trust. Without it, a file with keys or counters is rejected.',
    )
    .addOption(jsonOption())
}

const exportDescription = `Writes data to standard output. NDJSON, the default, has all data of the store, and keys (hashes, no secrets). Webhooks, events, usage and the audit log are not exported. "petstore import --with-keys" reads it into another database. CSV has the animals only, and "petstore import" reads it too. A text that begins with =, +, -, @, ', a tab or a carriage return gets a ' in front, so that a spreadsheet does not treat it as a formula. Numbers stay as they are.

The export is consistent, and a server can use the database at the same time. With PostgreSQL, it needs as much space for temporary files (TMPDIR) as for its output.

NDJSON contains names of customers. Make sure that only you can read the file (umask 077).`

function addExport(program: Command): void {
  define(program, 'export', 'write data as NDJSON or CSV', {
    description: exportDescription,
    examples: [
      ['petstore export > petstore.ndjson', 'Write NDJSON, with keys and counters.'],
      ['petstore export --format csv > animals.csv', 'Write the animals for a spreadsheet.'],
    ],
    load: () => import('../export.ts'),
  })
    .addOption(formatOption('csv or ndjson (default: ndjson)'))
    .option('--without-keys', 'leave out keys and counters; "petstore import" then needs no --with-keys')
    .option('--without-photos', 'leave out photos, which are most of the bytes')
    .addOption(jsonOption('print the number of records as one line of JSON to standard error'))
}

function addBackups(program: Command): void {
  define(program, 'backup', 'copy the SQLite database', {
    description:
      'Writes a consistent copy of the SQLite database to a file, which must not exist. The copy is verified. A server can use the database at the same time. If the command fails or is interrupted, it leaves no file. For PostgreSQL, use its own tools, such as pg_dump.',
    examples: [['petstore backup petstore-2027-01-31.db', 'Write a backup.']],
    load: () => import('../backup.ts'),
  })
    .argument('<file>', 'the file to write')
    .addOption(jsonOption())
  define(program, 'restore', 'restore a backup', {
    description:
      'Restores the SQLite database from a file that "petstore backup" wrote. The file is verified before anything is changed. An existing database is replaced entirely, and only with --replace, except that the entries of its audit log are kept. A running server continues with the restored database. If the command fails or is interrupted, nothing is changed.',
    examples: [['petstore restore petstore-2027-01-31.db --replace', 'Replace the database.']],
    load: () => import('../restore.ts'),
  })
    .argument('<file>', 'a backup')
    .option('--replace', 'replace the existing database')
    .addOption(jsonOption())
}
