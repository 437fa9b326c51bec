import { photoBytesMax } from '../../../../../src/photos/photo.ts'
import { RequestError } from '../../../app/errors.ts'

/** The longest side of a reduced image, in pixels. The service stores less than half of that. */
const sideMax = 4_000
const quality = 0.9

/** A file that the service accepts. One that is too large is reduced, if the browser can read it. */
export async function reducedImage(file: File): Promise<Blob> {
  if (file.size <= photoBytesMax) return file
  const reduced = await reduce(file).catch(() => null)
  if (reduced && reduced.size <= photoBytesMax) return reduced
  throw new RequestError(
    'body_too_large',
    'The file is larger than 10 MiB, and this browser cannot reduce it. Export it as a smaller JPEG.',
  )
}

async function reduce(file: File): Promise<Blob | null> {
  const bitmap = await createImageBitmap(file)
  const scale = Math.min(1, sideMax / Math.max(bitmap.width, bitmap.height))
  const canvas = document.createElement('canvas')
  canvas.width = Math.round(bitmap.width * scale)
  canvas.height = Math.round(bitmap.height * scale)
  const context = canvas.getContext('2d')
  if (!context) return null
  // JPEG has no transparency.
  context.fillStyle = '#ffffff'
  context.fillRect(0, 0, canvas.width, canvas.height)
  context.drawImage(bitmap, 0, 0, canvas.width, canvas.height)
  bitmap.close()
  return new Promise((resolve) => canvas.toBlob(resolve, 'image/jpeg', quality))
}
