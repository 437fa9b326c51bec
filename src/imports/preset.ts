import type { ImportField } from './fields.ts'
import type { PresetName } from './presetNames.ts'

/** Texts by field. Each is read as if it was a cell of that field. */
export type Texts = { readonly [Field in ImportField]?: string }

/** How the cells of a column are read. */
export type ColumnRule = {
  /** The cell is a value of this field. */
  readonly field?: ImportField
  /** What a value means, ignoring case and punctuation, in place of reading it as the field. */
  readonly values?: Readonly<Record<string, Texts>>
  /** What every other value means. */
  readonly otherwise?: Texts
  /** What a blank cell means, unless another line of the animal has a value. By default it says nothing. */
  readonly blank?: Texts
  /** The cell is a list with commas, of which only the parts in `values` are read. */
  readonly isList?: true
  /** The cell says the opposite: yes is no. */
  readonly isInverse?: true
  /** The cell can have HTML. */
  readonly isHtml?: true
  /** Other values are ignored, because the users of the system can define their own. */
  readonly isLenient?: true
  /** These values mean that nothing is known. */
  readonly blanks?: readonly string[]
  /** The cell counts as blank if the one with this heading is blank or no. */
  readonly onlyIf?: string
  /** The column is not read if the one with this heading is yes. */
  readonly unless?: string
}

/** How the export of another system is read. Presets are data without functions. */
export type Preset = {
  /** The source of its external ids. */
  readonly name: PresetName
  readonly title: string
  /** A file with all headings of one of these lists is of this system. */
  readonly recognizedBy: readonly (readonly string[])[]
  /** By heading. The usual headings are read too. */
  readonly columns: Readonly<Record<string, ImportField | ColumnRule | readonly (ImportField | ColumnRule)[]>>
  /** Headings that are never read, because they are about people or for staff alone. `*` is any text. */
  readonly excluded: readonly string[]
  /** Cells that mean that nothing is known. */
  readonly blanks?: readonly string[]
  /** An animal can have several lines, with the same external id. */
  readonly hasSeveralLines?: true
}
