/** The rules for photos, without HTTP or SQL. */

export const photosPerPetMax = 20
export const photoBytesMax = 10 * 1024 * 1024
export const photoPixelsMax = 50_000_000
/** A narrow image takes much longer than another one with as many pixels. */
export const photoSideMax = 20_000
export const altLengthMax = 1_000
export const captionLengthMax = 1_000
export const photoSourceLengthMax = 2_048

/** The media types that can be uploaded. */
export const uploadTypes = ['image/jpeg', 'image/png', 'image/webp'] as const

/** The files that are made of an upload, with their media types and widths in pixels. */
export const photoFiles = {
  '320.webp': { type: 'image/webp', width: 320 },
  '640.webp': { type: 'image/webp', width: 640 },
  '1600.webp': { type: 'image/webp', width: 1600 },
  '1600.jpg': { type: 'image/jpeg', width: 1600 },
} as const
export type PhotoFileName = keyof typeof photoFiles
export const photoFileNames = Object.keys(photoFiles) as PhotoFileName[]
/** The bounds of the largest file, in pixels. */
export const photoWidthMax = 1_600
export const photoHeightMax = 2_400
/** The size of all files of a photo together. An export has them in one line. */
export const photoFilesBytesMax = 3_000_000

/** What is made of an upload. Its size is that of the largest file. */
export type DecodedPhoto = {
  readonly width: number
  readonly height: number
  /** The dominant color, such as `#8a7f6d`. */
  readonly color: string
  readonly files: Readonly<Record<PhotoFileName, Uint8Array>>
}

/** Without Buffer: browsers use this file too. */
const latin1 = (bytes: Uint8Array, from: number, to: number): string =>
  String.fromCharCode(...bytes.subarray(from, to))
const startsWith = (bytes: Uint8Array, text: string, at = 0): boolean =>
  latin1(bytes, at, at + text.length) === text

const formats: Readonly<
  Record<(typeof uploadTypes)[number], { name: string; test(bytes: Uint8Array): boolean }>
> = {
  'image/jpeg': { name: 'JPEG', test: (bytes) => startsWith(bytes, '\xff\xd8\xff') },
  'image/png': { name: 'PNG', test: (bytes) => startsWith(bytes, '\x89PNG\r\n\x1a\n') },
  'image/webp': {
    name: 'WebP',
    test: (bytes) => startsWith(bytes, 'RIFF') && startsWith(bytes, 'WEBP', 8),
  },
}
/** The format of a file of a photo. `test` looks at the signature at the start of the bytes. */
export const formatOf = (name: PhotoFileName) => formats[photoFiles[name].type]

/** What to do about formats that people try. */
const otherFormats: readonly [name: string, test: (bytes: Uint8Array) => boolean, advice: string][] = [
  [
    'HEIC',
    (bytes) => startsWith(bytes, 'ftyp', 4) && /^(hei|hev|mif|msf)/.test(latin1(bytes, 8, 12)),
    'Export it as JPEG.',
  ],
  ['AVIF', (bytes) => startsWith(bytes, 'ftypavi', 4), 'Export it as JPEG.'],
  ['GIF', (bytes) => startsWith(bytes, 'GIF8'), 'Export it as JPEG or PNG.'],
  ['TIFF', (bytes) => startsWith(bytes, 'II*\0') || startsWith(bytes, 'MM\0*'), 'Export it as JPEG.'],
  [
    'SVG',
    (bytes) => /^(\uFEFF|\u00EF\u00BB\u00BF)?\s*<(\?xml|!DOCTYPE svg|svg)/i.test(latin1(bytes, 0, 200)),
    'Export it as PNG.',
  ],
  ['PDF', (bytes) => startsWith(bytes, '%PDF'), 'Export it as JPEG.'],
]

/** Why a file is not of a supported format, by its content. Undefined if it is. */
export function unsupportedReason(bytes: Uint8Array): string | undefined {
  if (Object.values(formats).some(({ test }) => test(bytes))) return undefined
  const [name, , advice] = otherFormats.find(([, test]) => test(bytes)) ?? []
  return name === undefined
    ? 'The body is not a JPEG, PNG or WebP image.'
    : `The body is a ${name} file. Photos can be JPEG, PNG or WebP. ${advice}`
}

/** Moves an item of a list to another position. */
export function moved<T>(items: readonly T[], from: number, to: number): T[] {
  const rest = items.filter((_, index) => index !== from)
  return rest.toSpliced(to, 0, items[from] as T)
}
