import { capitalize } from '../../app/format.ts'
import { RadioCards } from '../../components/RadioCards.tsx'
import type { KeyForm } from './keyForm.ts'
import { keyRoles, type RoleName } from './keyRoles.ts'
import { describePlan } from './plans.ts'

const options = [
  ...Object.entries(keyRoles).map(([value, { label, text }]) => ({ value: value as RoleName, label, text })),
  { value: 'custom' as const, label: 'Custom', text: 'You choose the plan and each scope.' },
]

type RoleFieldProps = { form: KeyForm; set(changes: Partial<KeyForm>): void }

/** What a new key is for. The choice sets its plan and its scopes. */
export const RoleField = ({ form, set }: RoleFieldProps) => (
  <RadioCards
    label="What is the key for?"
    options={options}
    value={form.role}
    // "Custom" begins with the settings of the last choice.
    onValue={(role) => set(role === 'custom' ? { role } : { role, origins: '', ...settingsOf(role) })}
    hint={
      form.role !== 'custom' && (
        <>
          {capitalize(form.plan)} plan: {describePlan(form.plan)} Scopes: {form.scopes.join(', ')}.
        </>
      )
    }
  />
)

const settingsOf = (role: RoleName): Pick<KeyForm, 'plan' | 'scopes'> => {
  const { plan, scopes } = keyRoles[role]
  return { plan, scopes }
}
