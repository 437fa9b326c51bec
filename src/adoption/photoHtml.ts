import type { PhotoRow } from '../photos/queries.ts'
import { paw, type SharedImage } from './document.ts'
import { type Html, html } from './html.ts'

const widths = [320, 640, 1600] as const

type PhotoOptions = {
  /** The text for people who cannot see it, unless the photo has one. */
  readonly alt: string
  /** How wide it is shown, as in the attribute. */
  readonly sizes: string
  /** It is visible without scrolling. */
  readonly isFirst?: boolean
}

const fileOf = ({ token }: PhotoRow, file: string): string => `/photos/${token}/${file}`

/** A photo, on its color until it is loaded. The color is an SVG, because the policy allows no style in the document. */
export function photoHtml(photo: PhotoRow, { alt, sizes, isFirst = false }: PhotoOptions): Html {
  const { width, height, color } = photo
  // A file is never wider than the photo.
  const useful = widths.filter((_, index) => index === 0 || (widths[index - 1] as number) < width)
  const files = useful.map((size) => `${fileOf(photo, `${size}.webp`)} ${Math.min(size, width)}w`)
  return html`<svg class="tint" aria-hidden="true"><rect width="100%" height="100%" fill="${color}"/></svg><img src="${fileOf(photo, '640.webp')}" srcset="${files.join(', ')}" sizes="${sizes}" width="${width}" height="${height}" alt="${photo.alt ?? alt}"${isFirst ? html` fetchpriority="high"` : html` loading="lazy"`} decoding="async">`
}

/** For shared links. JPEG, which every site can show. */
export const sharedImageOf = (photo: PhotoRow | undefined): SharedImage | undefined =>
  photo && { url: fileOf(photo, '1600.jpg'), width: photo.width, height: photo.height }

/** In place of a photo. */
export const noPhoto = html`<span class="no-photo">${paw}</span>`

/** How much wider than its square a photo is that fills it. */
const widthFactor = ({ width, height }: PhotoRow): number => Math.max(1, width / height)

/** The `sizes` of a photo that fills a square, by the widths of the square. */
export const squareSizes = (
  photo: PhotoRow,
  squares: readonly (readonly [condition: string, length: number, unit: 'rem' | 'vw'])[],
): string =>
  squares
    .map(([condition, length, unit]) =>
      `${condition} ${Math.round(length * widthFactor(photo))}${unit}`.trim(),
    )
    .join(', ')
