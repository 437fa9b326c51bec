import { Card } from '../../components/Card.tsx'
import { CheckField, SelectField } from '../../components/Field.tsx'
import { currencyOptions } from '../Animals/page/currencies.ts'
import type { ImportModel, Settings } from './importModel.ts'

const dateOrders = [
  { value: '', label: 'As in 2026-01-31' },
  { value: 'dmy', label: 'Day first: 31/1/2026' },
  { value: 'mdy', label: 'Month first: 1/31/2026' },
  { value: 'ymd', label: 'Year first: 26/1/31' },
]

const missingOptions = [
  { value: 'keep', label: 'Keep them as they are' },
  { value: 'unlist', label: 'Do not list them any more' },
]

/** How the file is read. A change checks it again. */
export function OptionsCard({ model }: { model: ImportModel }) {
  const { createCategories, dateOrder, currency, missing, force } = model.settings.value
  // Without the file, it cannot be checked again.
  if (!model.file.value) return null
  const change = (settings: Partial<Settings>) => void model.change(settings)
  return (
    <Card title="Options" text="A change checks the file again.">
      <fieldset class="import-options">
        <legend class="visually-hidden">Options</legend>
        <CheckField
          label="Add categories that do not exist"
          isChecked={createCategories}
          onChecked={(isChecked) => change({ createCategories: isChecked })}
        />
        <SelectField
          label="Dates"
          value={dateOrder}
          onValue={(value) => change({ dateOrder: value as Settings['dateOrder'] })}
          options={dateOrders}
        />
        <SelectField
          label="Currency of fees without one"
          value={currency}
          onValue={(value) => change({ currency: value })}
          options={[{ value: '', label: 'None' }, ...currencyOptions('EUR')]}
        />
        <SelectField
          label="Animals that are missing from the file"
          hint="Only those that an earlier file of the same system had."
          value={missing}
          onValue={(value) => change({ missing: value as Settings['missing'], force: false })}
          options={missingOptions}
        />
        {missing === 'unlist' && (
          <CheckField
            label="Unlist even if more than half are missing"
            isChecked={force}
            onChecked={(isChecked) => change({ force: isChecked })}
          />
        )}
      </fieldset>
    </Card>
  )
}
