import sharp, { type Sharp } from 'sharp'
import {
  type DecodedPhoto,
  type PhotoFileName,
  photoFileNames,
  photoFiles,
  photoFilesBytesMax,
  photoHeightMax,
  photoPixelsMax,
  photoSideMax,
  photoWidthMax,
} from './photo.ts'

const colorWidth = 160
/** Lower ones only if the files would be too large. */
const qualities = [80, 60, 40, 20]

/** The file cannot be used. The message says why. */
export class InvalidImageError extends Error {}

// Untrusted files: only the formats that are accepted, no caches that keep their content, one thread.
sharp.cache(false)
sharp.concurrency(1)
sharp.block({ operation: ['VipsForeignLoad'] })
sharp.unblock({
  operation: ['VipsForeignLoadJpegBuffer', 'VipsForeignLoadPngBuffer', 'VipsForeignLoadWebpBuffer'],
})

/** Decodes an image once and makes the files of a photo of it. They have none of its metadata. */
export async function decodePhoto(bytes: Uint8Array): Promise<DecodedPhoto> {
  const input = sharp(bytes, { failOn: 'error', limitInputPixels: photoPixelsMax, pages: 1 })
  const { width: inputWidth, height: inputHeight } = await input.metadata().catch(rejectInvalid)
  if (Math.max(inputWidth, inputHeight) > photoSideMax)
    throw new InvalidImageError(
      `The image has a side of more than ${photoSideMax.toLocaleString('en')} pixels. Reduce its size.`,
    )
  const size = { width: photoWidthMax, height: photoHeightMax, fit: 'inside' } as const
  const { data, info } = await input
    .autoOrient()
    .resize({ ...size, withoutEnlargement: true })
    .toColourspace('srgb')
    .raw()
    .toBuffer({ resolveWithObject: true })
    .catch(rejectInvalid)
  const { width, height, channels } = info
  // In the executable, the data is a part of the memory of the decoder, which would be copied as a whole.
  const base = sharp(Uint8Array.from(data), { raw: { width, height, channels } })
  const color = await dominantColor(base)
  for (const quality of qualities) {
    const files = await makeFiles(base, quality)
    const total = Object.values(files).reduce((sum, file) => sum + file.length, 0)
    if (total <= photoFilesBytesMax) return { width, height, color, files }
  }
  throw new InvalidImageError('The image has too much detail to be stored. Reduce its size.')
}

/** Of a small copy, which takes a tenth of the time. */
async function dominantColor(base: Sharp): Promise<string> {
  const { data, info } = await base
    .clone()
    .resize({ width: colorWidth, withoutEnlargement: true })
    .flatten({ background: '#ffffff' })
    .raw()
    .toBuffer({ resolveWithObject: true })
  const { width, height, channels } = info
  const { dominant } = await sharp(Uint8Array.from(data), { raw: { width, height, channels } }).stats()
  return `#${[dominant.r, dominant.g, dominant.b].map((value) => value.toString(16).padStart(2, '0')).join('')}`
}

async function makeFiles(base: Sharp, quality: number): Promise<Record<PhotoFileName, Uint8Array>> {
  const files: Partial<Record<PhotoFileName, Uint8Array>> = {}
  for (const name of photoFileNames) {
    const { type, width } = photoFiles[name]
    const resized = base.clone().resize({ width, withoutEnlargement: true })
    const encoded =
      type === 'image/webp'
        ? resized.webp({ quality })
        : resized.flatten({ background: '#ffffff' }).jpeg({ quality, mozjpeg: true })
    files[name] = await encoded.toBuffer()
  }
  return files as Record<PhotoFileName, Uint8Array>
}

function rejectInvalid({ message }: Error): never {
  throw new InvalidImageError(
    /pixel limit/i.test(message)
      ? `The image has more than ${photoPixelsMax / 1_000_000} megapixels. Reduce its size.`
      : 'The image is damaged or incomplete. Export it again.',
  )
}
