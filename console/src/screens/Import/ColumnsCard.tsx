import type { Import } from '../../../../client/src/index.ts'
import { Card } from '../../components/Card.tsx'
import { type Option, SelectField } from '../../components/Field.tsx'
import { fieldLabel, fieldOptions } from './fields.ts'
import type { ImportModel } from './importModel.ts'

type Column = Import['columns'][number]

/** No field has these names. */
const recognized = 'recognized'
const ignored = 'ignored'

/** What each column of the file is. A choice checks the file again. */
export function ColumnsCard({ model, preview }: { model: ImportModel; preview: Import }) {
  const { columns } = preview
  const used = columns.filter(({ fields }) => fields.length > 0)
  const canChange = model.file.value !== undefined
  const text = canChange
    ? 'Choose what a column is if it was not recognized.'
    : 'Choose the file again to change them.'
  return (
    <Card title="Columns" text={`${used.length} of ${columns.length} are imported. ${text}`}>
      <fieldset class="import-columns" disabled={!canChange}>
        <legend class="visually-hidden">Columns</legend>
        {columns.map((column, at) => (
          <ColumnField key={`${at} ${column.heading}`} model={model} column={column} />
        ))}
      </fieldset>
    </Card>
  )
}

function ColumnField({ model, column }: { model: ImportModel; column: Column }) {
  const { heading, excluded } = column
  const { columns } = model.settings.value
  const chosen = columns[heading]
  if (excluded)
    return (
      <SelectField
        label={heading}
        value={ignored}
        onValue={() => {}}
        options={[{ value: ignored, label: 'Never imported: it can be about people' }]}
      />
    )
  const choose = (value: string) => {
    const { [heading]: _, ...others } = columns
    const next = value === ignored ? '' : value
    void model.change({ columns: value === recognized ? others : { ...others, [heading]: next } })
  }
  return (
    <SelectField
      label={heading}
      value={chosen === undefined ? recognized : chosen || ignored}
      onValue={choose}
      options={optionsOf(column, chosen)}
    />
  )
}

/** The first option is what the service recognizes. What it has recognized is not known while another one is chosen. */
function optionsOf({ fields }: Column, chosen: string | undefined): readonly Option[] {
  const labels = fields.map(fieldLabel).join(', ')
  const label = chosen !== undefined ? 'As recognized' : fields.length > 0 ? labels : 'Not imported'
  const ignore = { value: ignored, label: 'Do not import' }
  const canIgnore = chosen !== undefined || fields.length > 0
  return [{ value: recognized, label }, ...(canIgnore ? [ignore] : []), ...fieldOptions]
}
