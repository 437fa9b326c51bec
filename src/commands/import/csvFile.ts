import { createHash } from 'node:crypto'
import { actorText } from '../../actor.ts'
import { systemClock } from '../../clock.ts'
import type { Database } from '../../database/database.ts'
import type { Db } from '../../database/db.ts'
import { addCategories, type CategoryIds, matchCategories, newCategories } from '../../imports/categories.ts'
import type { Columns } from '../../imports/columns.ts'
import { LineError } from '../../imports/csv/problem.ts'
import { readCsv } from '../../imports/csv/readCsv.ts'
import { readText } from '../../imports/csv/readText.ts'
import {
  AnimalLineError,
  type AnimalReader,
  completeAnimal,
  createAnimalReader,
} from '../../imports/recognize.ts'
import type { Resource, ResourceRecord } from '../../records/resource.ts'
import { defaultResource } from '../../resources.ts'
import { Progress } from '../output/progress.ts'
import type { CheckedFile, FileConflicts } from './checkFile.ts'
import type { ImportInput } from './input.ts'
import type { Problems } from './problems.ts'
import type { ReadOptions } from './records.ts'
import { StagedAnimals } from './staging.ts'

/** A CSV file whose lines were recognized and checked. */
export class CsvFile {
  readonly staged = new StagedAnimals()
  readonly #options: ReadOptions
  #columns: Columns | undefined
  #rowCount = 0
  #hasUnreadableLines = false
  #categoryIds: CategoryIds = new Map()
  /** The names of the categories that are added. */
  newCategories: readonly string[] = []

  constructor(options: ReadOptions) {
    this.#options = options
  }

  /** No line is about an animal, not even a wrong one. */
  get isEmpty(): boolean {
    return this.#rowCount === 0
  }

  /** It is not known which animal a wrong line is about. */
  get hasUnreadableLines(): boolean {
    return this.#hasUnreadableLines
  }

  /** Undefined for an empty file. */
  get columns(): Columns | undefined {
    return this.#columns
  }

  createReader = (header: readonly string[]): AnimalReader =>
    createAnimalReader(header, { ...this.#options, ...this.#options.csv, now: systemClock() })

  async check(
    input: ImportInput,
    conflicts: FileConflicts,
    problems: Problems,
    signal: AbortSignal,
  ): Promise<CheckedFile> {
    using progress = new Progress('Checking')
    const hash = createHash('sha256').update(
      JSON.stringify({ ...this.#options, map: [...this.#options.map] }),
    )
    const chunks = readText(input.open(), (bytes) => void hash.update(bytes))
    const createReader = (header: readonly string[]) => {
      const reader = this.createReader(header)
      this.#columns = reader.columns
      return reader
    }
    let bytesRead = 0
    for await (const { rows, lines, problems: wrong, bytes } of readCsv(chunks, createReader)) {
      signal.throwIfAborted()
      const isMerged = this.#columns?.preset?.hasSeveralLines ?? false
      for (const { error, ...problem } of wrong) {
        problems.add(problem)
        if (error instanceof AnimalLineError && error.externalId !== undefined)
          this.staged.addWrong(error.externalId)
        else this.#hasUnreadableLines = true
      }
      for (const [at, animal] of rows.entries()) this.staged.add(lines[at] as number, animal, isMerged)
      bytesRead += bytes
      this.#rowCount += rows.length + wrong.length
      progress.show(this.#rowCount, 'lines', bytesRead / input.bytes)
    }
    const highestId = this.#complete(conflicts, problems)
    const highestIds = new Map<Resource, number>(highestId > 0 ? [[defaultResource, highestId]] : [])
    const batches = () => this.staged.batches(this.#categoryIds, this.#options.csv?.hasPhotos ?? false)
    return { digest: hash.digest('hex'), highestIds, batches }
  }

  /** Finds the animals that lack something after all their lines. Returns the highest id. */
  #complete(conflicts: FileConflicts, problems: Problems): number {
    let highestId = 0
    for (const some of this.staged.all())
      for (const { line, animal } of some) {
        try {
          const complete = completeAnimal(animal, this.#columns as Columns)
          if (complete.name !== animal.name) this.staged.replace(line, complete)
          const { id, externalId, source } = complete
          const record = { id, externalId, source }
          conflicts.add(defaultResource.type, line, record)
          highestId = Math.max(highestId, id ?? 0)
        } catch (error) {
          if (!(error instanceof LineError)) throw error
          problems.add({ line, reason: error.message })
          this.staged.remove(line)
        }
      }
    return highestId
  }

  /** Lines can be wrong because of their category. */
  get mayHaveUnknownCategories(): boolean {
    return (
      !this.#options.csv?.createCategories && this.staged.categories.some((text) => !/^-?\d+$/.test(text))
    )
  }

  /** Finds the lines whose category is not known, which are left out. Returns their numbers. */
  async findUnknownCategories(db: Db | undefined, problems: Problems): Promise<Set<number>> {
    const { ids, unknown, existing } = await matchCategories(db, this.staged.categories)
    this.#categoryIds = ids
    const wrong = new Set<number>()
    if (unknown.length === 0) return wrong
    if (this.#options.csv?.createCategories) {
      this.newCategories = newCategories(unknown)
      return wrong
    }
    const unknownTexts = new Set(unknown)
    const known =
      existing.length > 0 ? `the categories are ${existing.slice(0, shownMax).join(', ')}` : 'there is none'
    for (const some of this.staged.all())
      for (const { line, animal } of some) {
        if (!unknownTexts.has(animal.category ?? '')) continue
        const problem = `${this.#categoryHeading} must be the id or the name of a category, but is "${animal.category}"`
        problems.add({ line, reason: `${problem} (${known}; --create-categories adds new ones)` })
        wrong.add(line)
      }
    return wrong
  }

  get #categoryHeading(): string {
    const headingOf = (name: string) =>
      this.#columns?.used.find(({ fields }) => fields.some((field) => field === name))?.heading
    return headingOf('categoryId') ?? headingOf('category') ?? headingOf('species') ?? 'category'
  }

  /** Notes the ids of the animals, for their photos. */
  onApplied = (records: readonly ResourceRecord[], lines: readonly number[]): void => {
    for (const [at, record] of records.entries())
      if ('petId' in record) this.staged.setPetId(lines[at] as number, record.petId as number)
  }

  /** Adds the categories that are missing. */
  async addCategories(database: Database): Promise<void> {
    if (this.newCategories.length === 0) return
    this.#categoryIds = await database.write((trx) => {
      trx.actor = actorText({ command: 'import' })
      return addCategories(trx, this.staged.categories, systemClock())
    })
  }

  close(): void {
    this.staged.close()
  }
}

const shownMax = 12
