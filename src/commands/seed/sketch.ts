/** The vocabulary of the drawings of sample animals. They become SVG. */

/** The colors that a sketch names. */
export type Colors = Readonly<Record<string, string>>

const inks: Colors = {
  ...{ ink: '#33263a', white: '#ffffff', snow: '#fbf6ee', gold: '#f6c85f', pink: '#f0a3a0', rose: '#f58f86' },
  ...{ shade: '#43284f', glow: '#fff7e8', leaf: '#86bd7a', wood: '#c99a66' },
}

/** `share` is the part of the second color, from 0 to 1. */
export function mix(first: string, second: string, share: number): string {
  const parts = [1, 3, 5].map((at) => {
    const [one, two] = [first, second].map((color) => Number.parseInt(color.slice(at, at + 2), 16)) as [
      number,
      number,
    ]
    return Math.round(one + (two - one) * share)
      .toString(16)
      .padStart(2, '0')
  })
  return `#${parts.join('')}`
}

/** `fur`, `#ff0000`, `fur+30` (30 % lighter) or `fur-30` (darker). */
export function colorOf(text: string, colors: Colors): string {
  const [, name = '', change] = /^(.+?)([+-]\d+)?$/.exec(text) ?? []
  const color = colors[name] ?? inks[name] ?? name
  if (change === undefined) return color
  return mix(color, inks[Number(change) > 0 ? 'glow' : 'shade'] as string, Math.abs(Number(change)) / 100)
}

const shapePattern = /^(\|?)([*~]?)([^\s:/>]+)(?:>([^\s:/]+))?(?::([\d.]+))?(?:\/([\d.]+))? (.+)$/

/**
 * Each line is one shape: its color, then a path, or 3 numbers (a circle), 4 (an ellipse), or 5 (a rectangle with round
 * corners). `*` before the color gives the shape volume, `~` lets it fade out at its edge, `|` adds its mirror image.
 * `fur:5` is a line of this width, `fur/.5` is translucent, and `blue>green` changes from top to bottom.
 */
export const sketch = (text: string, colors: Colors = {}): string =>
  text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => shape(line.trim(), colors))
    .join('')

function shape(line: string, colors: Colors): string {
  const match = shapePattern.exec(line)
  if (!match) throw new Error(`There is no shape "${line}".`)
  const [, mirror, style, first = '', second, width, opacity, geometry = ''] = match
  const color = colorOf(first, colors)
  const id = `${style}${color}${second === undefined ? '' : colorOf(second, colors)}`
  const isPlain = style === '' && second === undefined
  const fill = isPlain ? color : `url(${paintId(id)})`
  const paint =
    width === undefined ? `fill="${fill}"` : `fill="none" stroke="${fill}" stroke-width="${width}"`
  // Not `opacity`, with which each shape would be drawn to a picture of its own.
  const translucent =
    opacity === undefined ? '' : ` ${width === undefined ? 'fill' : 'stroke'}-opacity="${opacity}"`
  const drawn = `<${elementOf(geometry)} ${paint}${translucent}/>`
  return mirror ? drawn + group('scale(-1 1)', drawn) : drawn
}

function elementOf(geometry: string): string {
  if (geometry.startsWith('M')) return `path d="${geometry}"`
  const [a, b, c, d, e] = geometry.split(' ')
  if (d === undefined) return `circle cx="${a}" cy="${b}" r="${c}"`
  if (e === undefined) return `ellipse cx="${a}" cy="${b}" rx="${c}" ry="${d}"`
  return `rect x="${a}" y="${b}" width="${c}" height="${d}" rx="${e}"`
}

/** The reference to a gradient, which `drawing` defines: `*#c98a4b` has the id `r-c98a4b`. */
const paintId = (id: string): string =>
  `#${id.startsWith('*') ? 'r' : id.startsWith('~') ? 's' : 'f'}${id.replace(/[*~]/, '').replaceAll('#', '-')}`

const stop = (offset: number, color: string, opacity = 1): string =>
  `<stop offset="${offset}" stop-color="${color}" stop-opacity="${opacity}"/>`

function gradient(id: string): string {
  const [kind, ...colors] = id.split('-')
  const [first = '', second = ''] = colors.map((color) => `#${color}`)
  if (kind === 'f')
    return `<linearGradient id="${id}" x2="0" y2="1">${stop(0, first)}${stop(1, second)}</linearGradient>`
  // The light comes from above.
  return kind === 's'
    ? `<radialGradient id="${id}">${stop(0, first)}${stop(0.4, first, 0.7)}${stop(1, first, 0)}</radialGradient>`
    : `<radialGradient id="${id}" cx=".46" cy=".24" r=".86">${stop(0, colorOf(`${first}+30`, {}))}${stop(0.5, first)}${stop(1, colorOf(`${first}-22`, {}))}</radialGradient>`
}

/** A picture of 800 by 600 units. */
export function drawing(...parts: readonly string[]): string {
  const content = parts.join('')
  const ids = new Set([...content.matchAll(/url\(#([rsf]-[0-9a-f-]+)\)/g)].map(([, id = '']) => id))
  const size = 'width="960" height="720" viewBox="0 0 800 600"'
  return `<svg xmlns="http://www.w3.org/2000/svg" ${size} stroke-linecap="round" stroke-linejoin="round"><defs>${[...ids].map(gradient).join('')}</defs>${content}</svg>`
}

export const group = (transform: string, ...parts: readonly string[]): string =>
  `<g${transform && ` transform="${transform}"`}>${parts.join('')}</g>`

/** What of the parts is inside a path. */
export function inside(path: string, ...parts: readonly string[]): string {
  const content = parts.join('')
  if (content === '') return ''
  // The same id only for the same path.
  const id = `c${path.replaceAll(/[^\w-]/g, '')}`
  return `<clipPath id="${id}"><path d="${path}"/></clipPath><g clip-path="url(#${id})">${content}</g>`
}

/** The path of an ellipse with round tufts along its edge. */
export function fluffy(x: number, y: number, rx: number, ry: number, tufts: number, depth: number): string {
  const at = (index: number, scale: number) => {
    const angle = (2 * Math.PI * index) / tufts
    return `${(x + rx * scale * Math.sin(angle)).toFixed(1)} ${(y - ry * scale * Math.cos(angle)).toFixed(1)}`
  }
  const tuft = (_: unknown, index: number) => `Q${at(index + 0.5, 1 + depth)} ${at(index + 1, 1)}`
  return `M${at(0, 1)}${Array.from({ length: tufts }, tuft).join('')}Z`
}

type Range = readonly [from: number, to: number]

/** Draws something at places that look random, and are the same every time. */
export function scatter(
  count: number,
  seed: number,
  x: Range,
  y: Range,
  draw: (index: number) => string,
): string {
  const random = (index: number) => Math.abs(Math.sin(index * 12.9898 + seed * 78.233) * 43758.5453) % 1
  const within = ([from, to]: Range, chance: number) => Math.round(from + (to - from) * chance)
  const place = (_: unknown, index: number) =>
    group(`translate(${within(x, random(2 * index + 1))} ${within(y, random(2 * index + 2))})`, draw(index))
  return Array.from({ length: count }, place).join('')
}
