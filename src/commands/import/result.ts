import { withoutControls } from '../../controlCharacters.ts'
import type { CsvFile } from '../../imports/csvFile.ts'
import { addCounts, noCounts } from '../../records/resource.ts'
import { countedResources, defaultResource } from '../../resources.ts'
import { counted, printResult } from '../cli.ts'
import { byResource, describeCounts, listOf, totalOf } from '../counts.ts'
import type { KindCounts } from './applyRecords.ts'
import type { CsvOutcome } from './csvSteps.ts'
import type { Problems } from './problems.ts'

type Result = {
  readonly counts: KindCounts
  readonly resumedAfterLine: number
  readonly problems: Problems
  readonly csv: { readonly file: CsvFile; readonly outcome: CsvOutcome } | undefined
}

/** The changes of all resources, without remarks. */
const changesOf = (counts: KindCounts) =>
  byResource((resource) => {
    const { added, changed, unchanged } = counts.get(resource) ?? noCounts()
    return { added, changed, unchanged }
  })

/** What is said about a file of CSV, in JSON. */
const csvResult = ({ file, outcome }: NonNullable<Result['csv']>) => ({
  ...(file.columns?.preset && { from: file.columns.preset.name }),
  ...((file.columns?.unused.length ?? 0) > 0 && { unusedColumns: file.columns?.unused }),
  ...outcome,
})

/** Prints what an import has changed. */
export function printImported(
  isJson: boolean | undefined,
  { counts, resumedAfterLine, problems, csv }: Result,
  { withKeys, skipBad }: { readonly withKeys: boolean; readonly skipBad: boolean },
): void {
  const changes = changesOf(counts)
  const totals = byResource(({ countName }) => totalOf(changes[countName]))
  const remarks = countedResources.flatMap((resource) => {
    if (resource.requiresWithKeys && !withKeys) return []
    return Object.entries(resource.remarks ?? {}).map(([name, describe]) => {
      const count = counts.get(resource)?.[name] ?? 0
      return { name, count, sentence: count > 0 && describe(counted(count, ...resource.nouns)) }
    })
  })
  const result = {
    ...totals,
    changes,
    ...Object.fromEntries(remarks.map(({ name, count }) => [name, count])),
    ...(resumedAfterLine > 0 && { resumedAfterLine }),
    ...(skipBad && { skipped: problems.count }),
    ...(csv && csvResult(csv)),
  }
  const all = noCounts()
  for (const each of csv ? [changes.pets ?? noCounts()] : Object.values(changes)) addCounts(all, each)
  const imported = csv ? counted(totals.pets ?? 0, ...defaultResource.nouns) : describeCounts(totals)
  const sentences = [
    resumedAfterLine > 0 && `Continued after line ${resumedAfterLine}, where the import was interrupted.`,
    `Imported ${imported}: ${all.added} added, ${all.changed} changed, ${all.unchanged} unchanged.`,
    ...remarks.map(({ sentence }) => sentence),
    skipBad && problems.count > 0 && `Left out ${counted(problems.count, 'wrong line')}.`,
    ...(csv ? csvSentences(csv, 'Added', 'Unlisted') : []),
  ]
  printResult(isJson, result, asLines(sentences))
}

/** Prints what an import would change. */
export function printDryRun(
  isJson: boolean | undefined,
  { counts, resumedAfterLine, problems, csv }: Result,
): void {
  const changes = changesOf(counts)
  const { pets = noCounts(), categories = noCounts(), orders, keys } = changes
  const resumed = resumedAfterLine
    ? `The import would continue after line ${resumedAfterLine}, where it was interrupted. `
    : ''
  const others = countedResources
    .filter((resource) => resource !== defaultResource)
    .map(({ countName, nouns }) => {
      const { added, changed } = changes[countName] ?? noCounts()
      return `${counted(totalOf(changes[countName]), ...nouns)} (${added} added, ${changed} changed)`
    })
  const wrong = problems.count === 1 ? '1 line is wrong' : `${problems.count} lines are wrong`
  const more = csv ? '' : ` The file has ${listOf(others)}.`
  const sentences = [
    `${resumed}This would add ${counted(pets.added, 'animal')}, change ${pets.changed} and leave ${pets.unchanged} unchanged.${more} ${wrong}. Nothing was changed.`,
    ...(csv ? [...csvSentences(csv, 'Would add', 'Would unlist'), columnsSentence(csv.file)] : []),
  ]
  const { count: wrongLines, listed } = problems
  // `changes` has all numbers. The others are those of version 1.0.0.
  const result = {
    pets: { added: pets.added, updated: pets.changed, unchanged: pets.unchanged },
    categories: { added: categories.added, updated: categories.changed, unchanged: categories.unchanged },
    orders: totalOf(orders),
    keys: totalOf(keys),
    changes,
    ...(resumedAfterLine > 0 && { resumedAfterLine }),
  }
  const all = { dryRun: true, ...result, wrongLines, problems: listed, ...(csv && csvResult(csv)) }
  printResult(isJson, all, asLines(sentences))
}

const asLines = (sentences: readonly (string | false | undefined)[]): string =>
  sentences.flatMap((sentence) => (sentence ? [withoutControls(sentence)] : [])).join('\n')

function csvSentences({ file, outcome }: NonNullable<Result['csv']>, adding: string, unlisting: string) {
  const { newCategories, unlisted, photos, unusedPhotos } = outcome
  const { preset, unused = [] } = file.columns ?? {}
  return [
    preset && `The file was read as an export of ${preset.title}.`,
    newCategories &&
      `${adding} ${counted(newCategories.length, 'category', 'categories')}: ${newCategories.join(', ')}.`,
    unlisted !== undefined &&
      `${unlisting} ${counted(unlisted, 'animal')} that the file does not have any more.`,
    photos &&
      `Photos: ${photos.added} added, ${photos.unchanged} unchanged, ${photos.removed} removed, ${photos.failed} could not be imported.`,
    unusedPhotos &&
      `${counted(unusedPhotos.length, 'photo')} in the folder ${unusedPhotos.length === 1 ? 'was' : 'were'} not used: ${shortList(unusedPhotos)}.`,
    unused.length > 0 && `Columns that are not used: ${unused.join(', ').replace(/\.?$/, '.')}`,
    file.columns &&
      !file.canRecognizeAnimals &&
      'No column has the external id: importing this file again would add all its animals again. --external-id names the column.',
  ]
}

const shownNamesMax = 5
function shortList(names: readonly string[]): string {
  const more = names.length - shownNamesMax
  const shown = names.slice(0, shownNamesMax)
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}

const columnsSentence = ({ columns }: CsvFile): string | undefined =>
  columns &&
  `Columns that are used: ${columns.used.map(({ heading, fields }) => `${heading} (${fields.join(', ')})`).join(', ')}.`
