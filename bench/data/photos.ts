/** Photos of 12 megapixels, as a phone takes them. */
import { randomFillSync } from 'node:crypto'
import sharp from 'sharp'

const width = 4_000
const height = 3_000
/** The details of the picture. Enlarged, they compress about as well as a real photo. */
const detail = 40

export function makePhoto(): Promise<Buffer> {
  const size = { width: width / detail, height: height / detail }
  const pixels = randomFillSync(Buffer.alloc(size.width * size.height * 3))
  return sharp(pixels, { raw: { ...size, channels: 3 } })
    .resize(width, height)
    .jpeg({ quality: 85 })
    .toBuffer()
}
