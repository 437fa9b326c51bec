import * as z from 'zod'
import { boundedText, nameText, nonBlankText } from '../api/validation.ts'
import { changeable, httpsUrl, nullable } from '../profiles/schemas.ts'

const emailLengthMax = 254

const nameLengthMax = 100
export const storedStoreName = nonBlankText(nameLengthMax)
const fields = {
  name: nameText(nameLengthMax, 'The name of the store.'),
  about: boundedText(2_000, 'What visitors should know about the store. Plain text.'),
  phone: nonBlankText(40, 'The telephone number for visitors.'),
  email: z
    .email({ error: 'must be an e-mail address' })
    .max(emailLengthMax, `must have at most ${emailLengthMax} characters`)
    .meta({ description: 'The e-mail address for visitors.' }),
  url: httpsUrl('The web site of the store.'),
  address: nonBlankText(500, 'Where the store is. Plain text.'),
}
const adoptionPage = z.boolean().meta({
  description:
    'Whether the listed animals and the fields of the store are shown to everyone at `/adopt`. By default `false`.',
})

export const storeProfileUpdateSchema = z.object(changeable({ ...fields, adoptionPage })).meta({
  id: 'StoreProfileChange',
  description: 'The fields to change. `null` clears a field.',
  examples: [{ name: 'Second Chance Shelter', email: 'hello@shelter.example', adoptionPage: true }],
})

export const storeProfileSchema = z
  .object({
    ...nullable(fields),
    adoptionPage,
    publicUrl: z.string().nullable().meta({
      description:
        'The address of the service, which its operator sets with `PETSTORE_PUBLIC_URL`. Null if it is not set.',
    }),
  })
  .meta({ id: 'StoreProfile', description: 'The data of the store itself. Null is not set.' })

/** In events. */
export const storeStateSchema = z
  .object({})
  .meta({ id: 'StoreState', description: 'Empty: `GET /store/profile` returns the data of the store.' })
