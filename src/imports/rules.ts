import { type ImportedAnimal, mergeAnimals } from './animal.ts'
import type { ImportField } from './fields.ts'
import type { ColumnRule, Texts } from './preset.ts'
import { htmlToText } from './values/html.ts'
import { readerOf } from './values/readers.ts'
import { simplify } from './values/simplify.ts'
import { isNo, isUnknown, isYes, type ReadContext, ValueError, type ValueReader } from './values/values.ts'

/** Reads the cells of a column. `cellOf` is the cell of the line with another heading. */
export type CellReader = (
  text: string,
  context: ReadContext,
  cellOf: (heading: string) => string,
) => ImportedAnimal | undefined

const mergeAll = (parts: readonly (ImportedAnimal | undefined)[]): ImportedAnimal | undefined =>
  parts
    .filter((part) => part !== undefined)
    .reduce<ImportedAnimal | undefined>(
      (merged, part) => (merged ? mergeAnimals(merged, part) : part),
      undefined,
    )

/** The column is a field, or is read by the rule of a preset. */
export function cellReader(rule: ImportField | ColumnRule, heading: string): CellReader {
  if (typeof rule === 'string') return readerOf(rule, heading)
  const { onlyIf, unless, blank, blanks = [] } = rule
  const read = rule.isList ? listReader(rule) : valueReader(rule, heading)
  const readBlank = blank && textsReader(blank)
  return (text, context, cellOf) => {
    const isBlank =
      (onlyIf !== undefined && (isUnknown(cellOf(onlyIf)) || isNo(cellOf(onlyIf)))) ||
      (unless !== undefined && isYes(cellOf(unless))) ||
      blanks.includes(text)
    if (readBlank && (isBlank || isUnknown(text))) return { assumed: readBlank(text, context) }
    return isBlank ? undefined : read(text, context)
  }
}

/** Reads texts as cells of their fields. */
function textsReader(texts: Texts): ValueReader {
  const entries = Object.entries(texts).map(
    ([field, text = '']) => [readerOf(field as ImportField, field), text] as const,
  )
  return (_, context) => mergeAll(entries.map(([read, text]) => read(text, context)))
}

const readersOf = (values: ColumnRule['values'] = {}): ReadonlyMap<string, ValueReader> =>
  new Map(Object.entries(values).map(([value, texts]) => [simplify(value), textsReader(texts)]))

function listReader({ values }: ColumnRule): ValueReader {
  const readers = readersOf(values)
  return (text, context) =>
    mergeAll(text.split(/[,;|\n]/).map((part) => readers.get(simplify(part))?.(part, context)))
}

function valueReader(rule: ColumnRule, heading: string): ValueReader {
  const readers = readersOf(rule.values)
  const readOther = otherReader(rule, heading)
  return (text, context) => {
    const read = readers.size > 0 ? readers.get(simplify(text)) : undefined
    if (read) return read(text, context)
    if (readers.size > 0 && isUnknown(text)) return undefined
    try {
      return readOther(text, context)
    } catch (error) {
      if (rule.isLenient && error instanceof ValueError) return undefined
      throw error
    }
  }
}

/** Reads a value that has no entry of its own. */
function otherReader(
  { field, values = {}, otherwise, isInverse, isHtml }: ColumnRule,
  heading: string,
): ValueReader {
  if (otherwise) return textsReader(otherwise)
  if (field === undefined)
    return () => {
      throw new ValueError(`must be one of ${Object.keys(values).join(', ')}`)
    }
  const read = readerOf(field, heading)
  if (isHtml) return (text, context) => read(htmlToText(text), context)
  if (isInverse) return (text, context) => (isUnknown(text) ? undefined : read(inverse(text), context))
  return read
}

function inverse(text: string): string {
  if (isYes(text)) return 'no'
  if (isNo(text)) return 'yes'
  throw new ValueError('must be yes or no')
}
