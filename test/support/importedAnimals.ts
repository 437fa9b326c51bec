import { type ImportedAnimal, mergeAnimals } from '../../src/imports/animal.ts'
import type { Columns } from '../../src/imports/columns.ts'
import { type Problem, problemOf } from '../../src/imports/csv/problem.ts'
import { readCsv } from '../../src/imports/csv/readCsv.ts'
import { readText } from '../../src/imports/csv/readText.ts'
import { completeAnimal, createAnimalReader, type RecognizeOptions } from '../../src/imports/recognize.ts'

/** A day on which ages are easy to compute. */
export const today = Date.parse('2026-11-18T12:00:00Z')

/** The animals of a CSV text, without a database. Lines with the same external id are merged if the preset says so. */
export async function readAnimals(text: string, options: Partial<RecognizeOptions> = {}) {
  let columns: Columns | undefined
  const byLine = new Map<number, ImportedAnimal>()
  const problems: Problem[] = []
  const source = (async function* () {
    yield Buffer.from(text)
  })()
  const createReader = (header: readonly string[]) => {
    const reader = createAnimalReader(header, { map: new Map(), now: today, ...options })
    columns = reader.columns
    return reader
  }
  for await (const found of readCsv(readText(source), createReader)) {
    problems.push(...found.problems.map(({ line, reason }) => ({ line, reason })))
    for (const [at, animal] of found.rows.entries()) {
      const isSame = ([, other]: [number, ImportedAnimal]) =>
        columns?.preset?.hasSeveralLines && other.externalId === animal.externalId
      const [line = found.lines[at] as number, first] = [...byLine].find(isSame) ?? []
      byLine.set(line, first ? mergeAnimals(first, animal) : animal)
    }
  }
  const animals: ImportedAnimal[] = []
  for (const [line, animal] of byLine) {
    try {
      animals.push(completeAnimal(animal, columns as Columns))
    } catch (error) {
      problems.push({ line, reason: problemOf(error) })
    }
  }
  return { animals, problems: problems.sort((a, b) => a.line - b.line), columns: columns as Columns }
}
