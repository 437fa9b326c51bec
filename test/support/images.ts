import sharp from 'sharp'

/** A picture whose left half and right half have different colors. */
export function picture(width: number, height: number, left = '#c04020', right = '#2040c0') {
  const half = { create: { width: Math.ceil(width / 2), height, channels: 3 as const, background: right } }
  const base = sharp({ create: { width, height, channels: 3, background: left } })
  return base.composite([{ input: half, left: Math.floor(width / 2), top: 0 }])
}

/** Small, unless the size matters: every file of a photo is made of it. */
export const jpeg = (width = 80, height = 60): Promise<Buffer> => picture(width, height).jpeg().toBuffer()
export const png = (width = 80, height = 60): Promise<Buffer> => picture(width, height).png().toBuffer()
export const webp = (width = 80, height = 60): Promise<Buffer> => picture(width, height).webp().toBuffer()
