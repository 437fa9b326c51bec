import { group, scatter, sketch } from './sketch.ts'

/** Parts of several scenes. */

export const sky = (top: string, bottom: string, x: number, y: number): string =>
  sketch(`${top}>${bottom} 0 0 800 600 0\n~#fff6d6 ${x} ${y} 190\n#fff6d6 ${x} ${y} 46`)
export const cloud = (x: number, y: number, size: number): string =>
  group(
    `translate(${x} ${y}) scale(${size})`,
    sketch('white/.85 0 0 70 24\nwhite/.85 -26 -12 26\nwhite/.85 16 -20 34'),
  )
export const hills = (...colors: readonly string[]): string =>
  colors
    .map((color, index) =>
      group(
        `translate(${index % 2 ? 800 : 0} ${index * 62}) scale(${index % 2 ? -1 : 1} 1)`,
        sketch(
          `${color}+18>${color}-10 M-20 400C160 310 300 364 420 382C560 409 660 319 820 355L820 620L-20 620Z`,
        ),
      ),
    )
    .join('')
export const flower = (color: string, size: number): string =>
  group(
    `scale(${size})`,
    sketch('#5f9a5c:4 M0 0L0 26'),
    ...[0, 72, 144, 216, 288].map((angle) => group(`rotate(${angle})`, sketch(`${color} 0 -8 6 8`))),
    sketch('gold 0 0 5'),
  )
export const pick = (index: number, ...colors: readonly string[]): string =>
  colors[index % colors.length] as string
export const grass = (seed: number): string =>
  scatter(34, seed, [0, 800], [566, 596], (index) => sketch(`#6fb074:8 M0 40Q4 20 ${(index % 5) * 6 - 12} 0`))
export const tree = (x: number, y: number, size: number, color: string): string =>
  group(
    `translate(${x} ${y}) scale(${size})`,
    sketch(`#9a7358 -9 -20 18 90 8\n*${color} 0 -70 62\n*${color} -44 -36 40\n*${color} 42 -34 44`),
  )
export const fir = (x: number, y: number, size: number, color: string): string =>
  group(
    `translate(${x} ${y}) scale(${size})`,
    sketch(`#8a6a58 -8 -4 16 30 4
      *${color} M0 -170L34 -84Q0 -70 -34 -84Z
      *${color} M0 -130L50 -44Q0 -30 -50 -44Z
      *${color} M0 -90L66 -4Q0 10 -66 -4Z`),
  )
export const leaf = (index: number): string =>
  group(`rotate(${index * 47})`, sketch(`${pick(index, '#d9774f', '#efc160', '#c95f4a')} 0 0 13 7`))
export const straw = (index: number): string =>
  sketch(
    `${pick(index, '#f9e3a6', '#cf9f52', '#ecc97c')}:5 M0 0l${22 + (index % 4) * 8} ${(index % 5) * 7 - 14}`,
  )
export const repeat = (count: number, step: number, text: string): string =>
  Array.from({ length: count }, (_, index) => group(`translate(${index * step} 0)`, sketch(text))).join('')
