import type { RecordChange } from '../../records/resource.ts'
import type { ImportedAnimal } from '../animal.ts'
import type { AnimalPreview } from '../applyAnimals.ts'
import type { Problem } from '../csv/problem.ts'
import type { PresetName } from '../presetNames.ts'

/** An import is `checking` while its file is read. Until the check ends, it is not visible and does not block others. */
export const importStates = ['ready', 'applying', 'applied'] as const
export type ImportState = (typeof importStates)[number] | 'checking'

export const importIdPattern = '^[A-Za-z0-9_-]{22}$'
export const importRetentionMs = 60 * 60 * 1000
export const previewedMax = 20
export const wrongLinesMax = 100

export type ImportCounts = Record<RecordChange | 'unlisted', number>
export const noImportCounts = (): ImportCounts => ({ added: 0, changed: 0, unchanged: 0, unlisted: 0 })

export type ImportColumn = {
  readonly heading: string
  /** None if the column is ignored. */
  readonly fields: readonly string[]
  /** It can be about people, so it is always ignored. */
  readonly excluded: boolean
}

type PreviewedAnimal = AnimalPreview & {
  readonly line: number
  readonly name: string
  /** As the file names it. */
  readonly category: string
}

/** What is known about an import besides its animals. It is stored as JSON. */
export type ImportJob = {
  readonly from: PresetName | null
  readonly columns: readonly ImportColumn[]
  readonly createCategories: boolean
  readonly newCategories: readonly string[]
  /** The highest id that a line has. */
  readonly highestId: number
  /** Animals to add, change and unlist. */
  readonly total: number
  readonly expected: ImportCounts
  readonly wrong: number
  /** The first ones. */
  readonly wrongLines: readonly Problem[]
  /** The first ones, until the import is applied. */
  readonly animals: readonly PreviewedAnimal[]
  readonly done: number
  readonly result: ImportCounts
  /** Who applies it. */
  readonly actor: string | null
  /** The instance that applies it. */
  readonly worker: string | null
}

export type StoredAnimal = { readonly line: number; readonly animal: ImportedAnimal }

/** What is applied in one transaction: animals of the file, or ids of animals that are not in the file any more. */
export type ImportBatch =
  | { readonly animals: readonly StoredAnimal[] }
  | { readonly missing: readonly number[] }

/** Counts a wrong line, and keeps the first ones in the order of the file. */
export function withProblem<J extends Pick<ImportJob, 'wrong' | 'wrongLines'>>(job: J, problem: Problem): J {
  const wrong = job.wrong + 1
  const isLater = job.wrongLines.length >= wrongLinesMax && problem.line > (job.wrongLines.at(-1)?.line ?? 0)
  if (isLater) return { ...job, wrong }
  const wrongLines = [...job.wrongLines, problem].sort((a, b) => a.line - b.line).slice(0, wrongLinesMax)
  return { ...job, wrong, wrongLines }
}
