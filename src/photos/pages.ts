import { ApiError } from '../api/errors.ts'
import { etagOf } from '../api/etag.ts'
import { headerBlock } from '../api/response.ts'
import type { WebPage } from '../api/router.ts'
import { type PhotoFileName, photoFiles } from './photo.ts'
import { findFile } from './queries.ts'
import { photoErrors } from './schemas.ts'

const isFileName = (name: string): name is PhotoFileName => Object.hasOwn(photoFiles, name)

/** The files of photos, without a key. A photo never changes, so its address identifies its content. */
export const photoFilePage: WebPage = {
  path: '/photos/{photoId}/{file}',
  id: 'photos',
  isPublic: true,
  allowance: () => ({ name: 'photos', perMinute: 6_000 }),
  cacheKey: (_request, { params: { photoId, file } }) => `${photoId}/${file}`,
  async serve(_request, { params: { photoId = '', file = '' }, db }) {
    const bytes = isFileName(file) ? await findFile(db, photoId, file) : undefined
    if (!bytes || !isFileName(file))
      throw new ApiError(photoErrors.photo_not_found, 'There is no photo at this address.')
    return {
      status: 200,
      headers: headerBlock({
        'Content-Type': photoFiles[file].type,
        'Content-Length': String(bytes.length),
        'Cache-Control': 'public, max-age=86400, immutable',
        ETag: etagOf(`${photoId}/${file}`),
        'X-Content-Type-Options': 'nosniff',
        'Content-Security-Policy': "default-src 'none'; sandbox",
        'Cross-Origin-Resource-Policy': 'cross-origin',
      }),
      body: bytes,
    }
  },
}
