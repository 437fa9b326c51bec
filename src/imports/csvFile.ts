import type { Db, Trx } from '../database/db.ts'
import type { ImportedAnimal } from './animal.ts'
import { addCategories, type CategoryIds, matchCategories, newCategories } from './categories.ts'
import type { ColumnOptions, Columns } from './columns.ts'
import { LineError, type Problem } from './csv/problem.ts'
import { readCsv, type WrongRow } from './csv/readCsv.ts'
import type { TextChunk } from './csv/readText.ts'
import type { ImportField } from './fields.ts'
import { AnimalLineError, type AnimalReader, completeAnimal, createAnimalReader } from './recognize.ts'
import { StagedAnimals } from './staging.ts'
import { isId } from './values/simplify.ts'
import type { ReadContext } from './values/values.ts'

/** How the columns and values of a CSV file are read. */
export type CsvOptions = ColumnOptions &
  ReadContext & {
    readonly createCategories: boolean
    /** How new categories can be allowed, for a message. */
    readonly categoryAdvice: string
    /** Called after each step of the work, for example to let others run. */
    pause?(): Promise<void>
  }

type OnProblem = (problem: Problem) => void

/** A CSV file whose lines were recognized and checked. */
export class CsvFile {
  readonly staged = new StagedAnimals()
  readonly #options: CsvOptions
  #columns: Columns | undefined
  #isEmpty = true
  #hasUnreadableLines = false
  #categoryIds: CategoryIds = new Map()
  /** The names of the categories that are added. */
  newCategories: readonly string[] = []

  constructor(options: CsvOptions) {
    this.#options = options
  }

  /** Lets others run, if the caller wants it. */
  pause = async (): Promise<void> => this.#options.pause?.()

  /** No line is about an animal, not even a wrong one. */
  get isEmpty(): boolean {
    return this.#isEmpty
  }

  /** It is not known which animal a wrong line is about. */
  get hasUnreadableLines(): boolean {
    return this.#hasUnreadableLines
  }

  /** Undefined for an empty file. */
  get columns(): Columns | undefined {
    return this.#columns
  }

  /** Animals can be found again by their external ids. */
  get hasExternalIds(): boolean {
    return this.#hasColumnOf('externalId')
  }

  /** Another import of the file changes its animals, instead of adding them again. */
  get canRecognizeAnimals(): boolean {
    return this.hasExternalIds || this.#hasColumnOf('id')
  }

  #hasColumnOf(field: ImportField): boolean {
    return this.#columns?.used.some(({ fields }) => fields.includes(field)) ?? false
  }

  get categoryIds(): CategoryIds {
    return this.#categoryIds
  }

  createReader = (header: readonly string[]): AnimalReader => createAnimalReader(header, this.#options)

  /** Reads all lines. `onRead` is called with the number of records so far, without the header but with blank ones, and the bytes. */
  async read(
    chunks: AsyncIterable<TextChunk>,
    onProblem: OnProblem,
    onRead: (records: number, bytes: number) => void,
  ): Promise<void> {
    const createReader = (header: readonly string[]) => {
      const reader = this.createReader(header)
      this.#columns = reader.columns
      return reader
    }
    let linesRead = 0
    let bytesRead = 0
    for await (const { rows, lines, problems, records, bytes } of readCsv(chunks, createReader)) {
      const isMerged = this.#columns?.preset?.hasSeveralLines ?? false
      // The first one is at the end, where it can be removed in constant time.
      const wrong = problems.toSorted((a, b) => b.line - a.line)
      // In the order of the file, because the first line of an animal decides.
      for (const [at, animal] of rows.entries()) {
        const line = lines[at] as number
        while ((wrong.at(-1)?.line ?? line) < line) this.#addWrong(wrong.pop() as WrongRow, onProblem)
        const other = this.staged.add(line, animal, isMerged)
        if (other !== undefined)
          onProblem({
            line,
            reason: `the external id "${animal.externalId}" is that of another animal on line ${other}`,
          })
      }
      for (const each of wrong.reverse()) this.#addWrong(each, onProblem)
      bytesRead += bytes
      if (rows.length + problems.length > 0) this.#isEmpty = false
      linesRead += records
      onRead(this.#columns ? linesRead - 1 : linesRead, bytesRead)
      await this.pause()
    }
  }

  #addWrong({ line, reason, error }: WrongRow, onProblem: OnProblem): void {
    onProblem({ line, reason })
    if (error instanceof AnimalLineError && error.externalId !== undefined)
      this.staged.addWrong(error.externalId)
    else this.#hasUnreadableLines = true
  }

  /**
   * Completes the animals after all their lines. Those that lack something are left out, and `onAnimal` is called with the
   * others. Returns the highest id.
   */
  async complete(
    onProblem: OnProblem,
    onAnimal: (line: number, animal: ImportedAnimal) => void,
  ): Promise<number> {
    let highestId = 0
    for (const some of this.staged.all()) {
      for (const { line, animal } of some) {
        try {
          const complete = completeAnimal(animal, this.#columns as Columns)
          if (complete.name !== animal.name || animal.assumed) this.staged.replace(line, complete)
          highestId = Math.max(highestId, complete.id ?? 0)
          onAnimal(line, complete)
        } catch (error) {
          if (!(error instanceof LineError)) throw error
          onProblem({ line, reason: error.message })
          this.staged.remove(line)
        }
      }
      await this.pause()
    }
    return highestId
  }

  /** Lines can be wrong because of their category. */
  get mayHaveUnknownCategories(): boolean {
    return !this.#options.createCategories && this.staged.categories.some((text) => !isId(text))
  }

  /** Finds the lines whose category is not known, which are left out. Returns their numbers. */
  async findUnknownCategories(db: Db | undefined, onProblem: OnProblem): Promise<Set<number>> {
    const { ids, unknown, existing } = await matchCategories(db, this.staged.categories)
    this.#categoryIds = ids
    const wrong = new Set<number>()
    if (unknown.length === 0) return wrong
    if (this.#options.createCategories) {
      this.newCategories = newCategories(unknown)
      return wrong
    }
    const unknownTexts = new Set(unknown)
    const known =
      existing.length > 0 ? `the categories are ${existing.slice(0, shownMax).join(', ')}` : 'there is none'
    for (const some of this.staged.all()) {
      for (const { line, animal } of some) {
        if (!unknownTexts.has(animal.category ?? '')) continue
        const problem = `${this.#categoryHeading} must be the id or the name of a category, but is "${animal.category}"`
        onProblem({ line, reason: `${problem} (${known}; ${this.#options.categoryAdvice})` })
        wrong.add(line)
      }
      await this.pause()
    }
    return wrong
  }

  get #categoryHeading(): string {
    const headingOf = (name: string) =>
      this.#columns?.used.find(({ fields }) => fields.some((field) => field === name))?.heading
    return headingOf('categoryId') ?? headingOf('category') ?? headingOf('species') ?? 'category'
  }

  /** Adds the categories that are missing. */
  async addCategories(trx: Trx, now: number): Promise<void> {
    this.#categoryIds = await addCategories(trx, this.staged.categories, now)
  }

  close(): void {
    this.staged.close()
  }
}

const shownMax = 12
