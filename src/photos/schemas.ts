import * as z from 'zod'
import { defineErrors } from '../api/errors.ts'
import { boundedText, int64, integer, timestampSchema } from '../api/validation.ts'
import { altLengthMax, captionLengthMax, photoHeightMax, photosPerPetMax, photoWidthMax } from './photo.ts'
import type { PhotoRow } from './queries.ts'

export const photoErrors = defineErrors({
  photo_not_found: [404, 'There is no photo with this id. GET /pets/{petId}/photos lists the existing ones.'],
  too_many_photos: [409, `An animal can have ${photosPerPetMax} photos. Remove one first.`],
  invalid_image: [400, 'The image cannot be read. Export it again as JPEG.'],
})

export const photoIdPattern = '^[A-Za-z0-9_-]{22}$'
const id = z
  .string()
  .meta({ description: 'The id of the photo. It cannot be guessed.', pattern: photoIdPattern })
const alt = boundedText(altLengthMax, 'What the photo shows, for people who cannot see it.')
const caption = boundedText(captionLengthMax, 'A text that is shown with the photo.')
const position = integer(0, photosPerPetMax - 1).meta({
  description: 'The place among the photos of the animal. The first one has position 0.',
})
const url = (description: string) => z.string().meta({ format: 'uri-reference', description })

export const photoSchema = z
  .object({
    id,
    position,
    alt: alt.nullable(),
    caption: caption.nullable(),
    width: integer(1, photoWidthMax).meta({ description: 'In pixels, of the largest file.' }),
    height: integer(1, photoHeightMax).meta({ description: 'In pixels, of the largest file.' }),
    color: z.string().meta({
      pattern: '^#[0-9a-f]{6}$',
      description: 'The dominant color, to show until the photo is loaded.',
    }),
    urls: z
      .object({
        320: url('WebP, up to 320 pixels wide.'),
        640: url('WebP, up to 640 pixels wide.'),
        1600: url('WebP, up to 1,600 pixels wide.'),
        jpeg: url('JPEG, up to 1,600 pixels wide.'),
      })
      .meta({ id: 'PhotoUrls', description: 'The addresses of the files. They need no key.' }),
  })
  .meta({ id: 'Photo', description: 'A photo of an animal.' })
export const photoListSchema = z
  .array(photoSchema)
  .meta({ id: 'Photos', description: `The photos of an animal, in order. At most ${photosPerPetMax}.` })

export const photoUpdateSchema = z
  .object({
    alt: alt.nullable().optional(),
    caption: caption.nullable().optional(),
    position: position.optional(),
  })
  .meta({
    id: 'PhotoChange',
    description: 'The fields to change. Fields that are left out keep their value, and `null` clears a text.',
    examples: [{ alt: 'Luna with a ball', position: 0 }],
  })

/** In events. */
export const photoStateSchema = z
  .object({
    id,
    petId: int64().meta({ description: 'The id of the animal.' }),
    updatedAt: timestampSchema('When the change was made.'),
  })
  .meta({ id: 'PhotoState', description: 'A photo that was added, changed or removed.' })

/** For responses. `publicUrl` is that of the service, or empty. */
export function serializePhoto(photo: PhotoRow, position: number, publicUrl: string) {
  const { token, alt, caption, width, height, color } = photo
  const base = `${publicUrl}/photos/${token}`
  const urls = {
    320: `${base}/320.webp`,
    640: `${base}/640.webp`,
    1600: `${base}/1600.webp`,
    jpeg: `${base}/1600.jpg`,
  }
  return { id: token, position, alt, caption, width, height, color, urls }
}
