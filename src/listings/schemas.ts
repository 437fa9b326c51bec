import * as z from 'zod'
import { ListCursor, pageSchema } from '../api/pagination.ts'
import { petStatuses } from '../pets/pet.ts'
import { petFilterSchema, petSchema } from '../pets/schemas.ts'
import { photoListSchema } from '../photos/schemas.ts'
import { ageGroups, companions, sexes, sizes } from '../profiles/profile.ts'
import { profileSchema } from '../profiles/schemas.ts'
import { viewQuery } from '../profiles/view.ts'
import { separators } from './words.ts'

const queryLengthMax = 200
const queryWordsMax = 8

const etagsSchema = z
  .object({
    pet: z.string().meta({ description: 'Of the animal, for `PATCH` and `DELETE /pets/{petId}`.' }),
    profile: z.string().meta({ description: 'Of the profile, for `PATCH /pets/{petId}/profile`.' }),
  })
  .meta({ id: 'ListingEtags', description: 'The ETags for `If-Match`.' })

export const listingSchema = z
  .object({ pet: petSchema, profile: profileSchema, photos: photoListSchema, etags: etagsSchema })
  .meta({ id: 'Listing', description: 'An animal with its profile and photos.' })

const { description: _, ...summarized } = profileSchema.shape
const profileSummarySchema = z
  .object({
    ...summarized,
    summary: z.string().nullable().meta({
      description: 'The first 300 characters of the description, cut at a word.',
    }),
  })
  .meta({ id: 'ProfileSummary', description: 'A profile with the beginning of its description.' })
const listingSummarySchema = z
  .object({
    pet: petSchema,
    profile: profileSummarySchema,
    photos: photoListSchema,
    etags: etagsSchema,
  })
  .meta({
    id: 'ListingSummary',
    description: 'An animal with its photos and the beginning of its description.',
  })
export const listingListSchema = pageSchema(listingSummarySchema, 'Listings', 'animals, newest first')

const searchText = z
  .string()
  .refine((text) => [...text].length <= queryLengthMax, `must have at most ${queryLengthMax} characters`)
  .refine(
    (text) => text.split(separators).filter((word) => word !== '').length <= queryWordsMax,
    `must have at most ${queryWordsMax} words`,
  )

const wholeValue = (description: string) => z.string().min(1).max(100).optional().meta({ description })

export const listingFilterSchema = z.object({
  status: z.array(z.enum(petStatuses)).optional().meta({
    description:
      'Only animals with one of these statuses. `available` and `pending` unless given; all with `view=staff`.',
  }),
  categoryId: petFilterSchema.shape.categoryId,
  species: wholeValue('Only animals of this species, such as `dog`.'),
  breed: wholeValue('Only animals of this breed.'),
  sex: z.enum(sexes).optional().meta({ description: 'Only animals of this sex.' }),
  size: z.enum(sizes).optional().meta({ description: 'Only animals of this size.' }),
  ageGroup: z.enum(ageGroups).optional().meta({ description: 'Only animals of this age.' }),
  goodWith: z.array(z.enum(companions)).optional().meta({
    description: 'Only animals that are known to get along with all of these. Can be repeated.',
  }),
  specialNeeds: z.enum(['true', 'false']).optional().meta({
    description: 'Only animals that have special needs, or that have none.',
  }),
  q: searchText.optional().meta({
    maxLength: queryLengthMax,
    description: `Words that the name, breeds, colors, external id or description must contain, all of them, up to ${queryWordsMax}. The last one may be the beginning of a word, from 3 characters.`,
  }),
  listed: z.enum(['true', 'false', 'any']).optional().meta({
    description: 'Whether the animals are listed. `true` unless given. Other values require `view=staff`.',
  }),
  ...viewQuery,
})
export const listingCursor = new ListCursor('listings', listingFilterSchema)
