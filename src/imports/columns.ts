import { FileError } from './csv/problem.ts'
import { exportFields, type ImportField, listFields } from './fields.ts'
import { usualHeadings } from './headings.ts'
import type { ColumnRule, Preset, Texts } from './preset.ts'
import type { PresetName } from './presetNames.ts'
import { isExcluded, presets, recognizePreset } from './presets.ts'
import { type CellReader, cellReader } from './rules.ts'
import { headingKey } from './values/simplify.ts'

/** What the caller says about the columns of a file. */
export type ColumnOptions = {
  /** Fields by headings. An empty text ignores the column. */
  readonly map: ReadonlyMap<string, string>
  /** The heading of the column with the external id. */
  readonly externalId?: string | undefined
  /** The name of a preset. Otherwise the headings decide. */
  readonly from?: PresetName | undefined
  /** A file without a column that is needed is accepted: all its lines are wrong. */
  readonly allowsMissingColumns?: boolean
  /** How a column can be chosen for a field, for a message. */
  columnAdvice?(field: ImportField): string
}

export type Column = {
  readonly at: number
  readonly heading: string
  readonly fields: readonly ImportField[]
  readonly readers: readonly CellReader[]
  /** A blank cell has a meaning. */
  readonly readsBlanks: boolean
}

export type Columns = {
  readonly headings: readonly string[]
  readonly used: readonly Column[]
  /** The headings of the others. */
  readonly unused: readonly string[]
  readonly preset: Preset | undefined
  /** The file has a column `categoryId`, as the exports of Petstore have: `id` is the id here, and names are exact. */
  readonly isOwnFormat: boolean
}

/** No line of the file can be read. */
class HeadingsError extends FileError {
  constructor(problem: string, headings: readonly string[], advice?: string) {
    super(`${problem} Its columns are: ${headings.join(', ')}.${advice === undefined ? '' : ` ${advice}`}`)
  }
}

/** Blank headings count too. */
const columnsMax = 500
const headingLengthMax = 200
const shownLengthMax = 60

type Rule = ImportField | ColumnRule

const fieldsOf = (rule: Rule): ImportField[] => {
  if (typeof rule === 'string') return [rule]
  const texts = [...Object.values(rule.values ?? {}), rule.otherwise ?? {}, rule.blank ?? {}]
  const fields = [...(rule.field ? [rule.field] : []), ...texts.flatMap((text) => Object.keys(text))]
  return [...new Set(fields as ImportField[])]
}

/** Decides what each column of a file is: by the caller, by the preset, and then by the usual headings. */
export function recognizeColumns(cells: readonly string[], options: ColumnOptions): Columns {
  if (cells.length > columnsMax)
    throw new FileError(
      `The header has ${cells.length} columns. A file can have ${columnsMax}, with those that have no heading.`,
    )
  const headings = cells.map((cell) => cell.trim())
  const wrong = headings.find((heading) => heading.length > headingLengthMax || heading.includes('\u0000'))
  if (wrong !== undefined)
    throw new FileError(
      `A heading can have ${headingLengthMax} characters and no NUL character, but one is "${wrong.slice(0, shownLengthMax).replaceAll('\u0000', '')}".`,
    )
  const isOwnFormat =
    options.from === undefined &&
    (headings.some((heading) => headingKey(heading) === 'categoryid') ||
      [...options.map.values()].includes('categoryId'))
  const recognized = isOwnFormat ? undefined : recognizePreset(headings)
  const preset = options.from === undefined ? recognized : presets[options.from]
  const rules = new Map<number, readonly Rule[]>()
  addChosen(rules, headings, options, preset)
  if (preset) addPresetColumns(rules, headings, preset)
  addUsualColumns(rules, headings, preset, isOwnFormat)
  const used = [...rules]
    .filter(([, each]) => each.length > 0)
    .sort(([a], [b]) => a - b)
    .map(([at, each]): Column => {
      const heading = headings[at] as string
      const readers = each.map((rule) => cellReader(rule, heading))
      const readsBlanks = each.some((rule) => typeof rule !== 'string' && rule.blank !== undefined)
      return { at, heading, fields: each.flatMap(fieldsOf), readers, readsBlanks }
    })
  const isTitle = headings.filter((heading) => heading !== '').length < 2
  if (isTitle || !options.allowsMissingColumns) requireColumns(used, headings, preset, options)
  const unused = headings.filter((heading, at) => heading !== '' && !used.some((column) => column.at === at))
  return { headings, used, unused, preset, isOwnFormat }
}

function addChosen(
  rules: Map<number, readonly Rule[]>,
  headings: readonly string[],
  { map, externalId }: ColumnOptions,
  preset: Preset | undefined,
): void {
  const chosen = new Map([...map, ...(externalId === undefined ? [] : [[externalId, 'externalId'] as const])])
  for (const [heading, field] of chosen) {
    const at = headings.indexOf(heading)
    if (at === -1) throw new HeadingsError(`The header has no column "${heading}".`, headings)
    if (preset && field !== '' && isExcluded(preset, heading))
      throw new HeadingsError(
        `The column "${heading}" of ${preset.title} can be about people and is never imported.`,
        headings,
      )
    if (
      field !== '' &&
      !isList(field) &&
      [...rules.values()].some((others) => others.includes(field as Rule))
    )
      throw new HeadingsError(`The header has two columns for ${field}.`, headings)
    rules.set(at, field === '' ? [] : [field as ImportField])
  }
}

const isList = (field: string): boolean =>
  listFields.some((name) => name === field) || field.startsWith('attributes.')

function addPresetColumns(
  rules: Map<number, readonly Rule[]>,
  headings: readonly string[],
  preset: Preset,
): void {
  const byKey = new Map(Object.entries(preset.columns).map(([heading, rule]) => [headingKey(heading), rule]))
  const chosen = new Set([...rules.values()].flat().flatMap(fieldsOf))
  for (const [at, heading] of headings.entries()) {
    if (rules.has(at)) continue
    const rule = byKey.get(headingKey(heading))
    if (isExcluded(preset, heading)) rules.set(at, [])
    else if (rule !== undefined) {
      const each = [rule].flat() as readonly Rule[]
      rules.set(
        at,
        each.flatMap((one) => withoutFields(one, chosen)),
      )
    }
  }
}

/** What is left of a rule without the fields for which the caller has chosen another column. Lists continue. */
function withoutFields(rule: Rule, chosen: ReadonlySet<ImportField>): Rule[] {
  const isLeft = (field: string) => isList(field) || !chosen.has(field as ImportField)
  const fields = fieldsOf(rule)
  const left = fields.filter(isLeft)
  if (left.length === fields.length) return [rule]
  if (left.length === 0 || typeof rule === 'string') return []
  const { field, values = {}, otherwise, blank, ...others } = rule
  const textsLeft = (texts: Texts): Texts =>
    Object.fromEntries(Object.entries(texts).filter(([name]) => isLeft(name)))
  return [
    {
      ...others,
      ...(field !== undefined && isLeft(field) ? { field } : { isLenient: true }),
      values: Object.fromEntries(Object.entries(values).map(([value, texts]) => [value, textsLeft(texts)])),
      ...(otherwise && { otherwise: textsLeft(otherwise) }),
      ...(blank && { blank: textsLeft(blank) }),
    },
  ]
}

function addUsualColumns(
  rules: Map<number, readonly Rule[]>,
  headings: readonly string[],
  preset: Preset | undefined,
  isOwnFormat: boolean,
): void {
  const keys = headings.map(headingKey)
  /** The columns with each heading, in their order. */
  const columnsOf = Map.groupBy(keys.keys(), (at) => keys[at] as string)
  const taken = new Set([...rules.values()].flat().flatMap(fieldsOf))
  const rows = isOwnFormat ? [...exportHeadings, ...profileHeadings] : [...otherHeadings, idHeading]
  for (const [field, list] of rows) {
    // Another column has been chosen for it. A preset decides alone what the fields that it has are read from.
    if (taken.has(field) && (preset || !isList(field))) continue
    if (preset && presetFields.includes(field)) continue
    const found = list.flatMap((key) => columnsOf.get(key) ?? []).find((at) => !rules.has(at))
    if (found === undefined) continue
    if (isRequired(field) && keys.lastIndexOf(keys[found] as string) !== found)
      throw new HeadingsError(`The header has two columns for ${field}.`, headings)
    rules.set(found, [field])
    if (!isList(field)) taken.add(field)
  }
}

const petFields: readonly ImportField[] = ['name', 'categoryId', 'category', 'status', 'externalId']
/** Beside `categoryId`, a pet has exactly these columns. Other columns were ignored in version 1.0. */
const exportHeadings = exportFields.map((field) => [field, [headingKey(field)]] as const)
const otherHeadings = usualHeadings.map(([field, list]) => [field, list.split(', ').map(headingKey)] as const)
const profileHeadings = otherHeadings.filter(([field]) => !petFields.includes(field))
const idHeading = ['externalId', ['id']] as const
/** Only a preset knows in which columns of its system these are. Others can be notes that are not for the public. */
const presetFields: readonly ImportField[] = ['description', 'staffNotes', 'location']

const isRequired = (field: ImportField): boolean =>
  ['name', 'categoryId', 'category', 'externalId'].includes(field)

function requireColumns(
  used: readonly Column[],
  headings: readonly string[],
  preset: Preset | undefined,
  { columnAdvice }: ColumnOptions,
): void {
  const has = (...fields: ImportField[]) =>
    used.some((column) => fields.some((field) => column.fields.includes(field)))
  const missing = !has('name')
    ? 'name'
    : !has('categoryId', 'category', 'species')
      ? 'category'
      : preset && !has('externalId')
        ? 'externalId'
        : undefined
  if (missing !== undefined)
    throw new HeadingsError(`The header has no column ${missing}.`, headings, columnAdvice?.(missing))
}
