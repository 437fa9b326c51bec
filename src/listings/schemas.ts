import * as z from 'zod'
import { ListCursor, pageSchema } from '../api/pagination.ts'
import { nonBlankText } from '../api/validation.ts'
import { petStatuses } from '../pets/pet.ts'
import { petFilterSchema, petSchema } from '../pets/schemas.ts'
import { photoListSchema } from '../photos/schemas.ts'
import { ageGroups, companions, sexes, sizes } from '../profiles/profile.ts'
import { profileSchema } from '../profiles/schemas.ts'
import { viewQuery } from '../profiles/view.ts'
import { wordsOf } from './words.ts'

const queryLengthMax = 200
const queryWordsMax = 8
/** Words, and pairs of characters of scripts without spaces. */
const queryTermsMax = 64

const etagsSchema = z
  .object({
    pet: z.string().meta({ description: 'Of the animal, for `PATCH` and `DELETE /pets/{petId}`.' }),
    profile: z.string().meta({ description: 'Of the profile, for `PATCH /pets/{petId}/profile`.' }),
  })
  .meta({ id: 'ListingEtags', description: 'The ETags for `If-Match`.' })

export const listingSchema = z
  .object({ pet: petSchema, profile: profileSchema, photos: photoListSchema, etags: etagsSchema })
  .meta({
    id: 'Listing',
    description:
      'An animal with its profile and photos. In lists, the profile has `summary` in place of `description`.',
  })

export const listingListSchema = pageSchema(listingSchema, 'Listings', 'animals, newest first')

const searchText = z
  .string()
  .refine((text) => [...text].length <= queryLengthMax, `must have at most ${queryLengthMax} characters`)
  .refine((text) => {
    const words = [...new Map([...wordsOf(text)].map((found) => [found.word, found])).values()]
    return words.filter(({ isPair }) => !isPair).length <= queryWordsMax && words.length <= queryTermsMax
  }, `must have at most ${queryWordsMax} words`)

const wholeValue = (description: string) => nonBlankText(100, description).optional()

export const listingFilterSchema = z.object({
  status: z.array(z.enum(petStatuses)).max(petStatuses.length).optional().meta({
    description: 'By default `available` and `pending`, and with `view=staff` all.',
  }),
  categoryId: petFilterSchema.shape.categoryId,
  species: wholeValue('Such as `dog`.'),
  breed: wholeValue('Such as `Boxer`.'),
  sex: z.enum(sexes).optional().meta({ description: 'The sex.' }),
  size: z.enum(sizes).optional().meta({ description: 'The size.' }),
  ageGroup: z.enum(ageGroups).optional().meta({ description: 'The age.' }),
  goodWith: z.array(z.enum(companions)).max(companions.length).optional().meta({
    description: 'Only animals that get along with all of these.',
  }),
  specialNeeds: z.enum(['true', 'false']).optional().meta({
    description: 'Only animals with special needs, or without.',
  }),
  q: searchText.optional().meta({
    maxLength: queryLengthMax,
    description: `Up to ${queryWordsMax} words of the name, breeds, colors, external id or description. The last one may be the beginning of a word.`,
  }),
  listed: z.enum(['true', 'false', 'any']).optional().meta({
    description: 'By default `true`. Other values require `view=staff`.',
  }),
  ...viewQuery,
})
export const listingCursor = new ListCursor('listings', listingFilterSchema)
