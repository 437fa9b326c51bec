import {
  back,
  ears,
  earsBehind,
  fluffyBack,
  fluffyHeads,
  fluffyTorso,
  heads,
  markings,
  torso,
} from './coats.ts'
import { type Colors, colorOf, fluffy, group, inside, mix, sketch } from './sketch.ts'

/** Dogs, cats, rabbits and guinea pigs from the front. The origin is the middle of the head. */

export type Mood = 'calm' | 'happy' | 'playful' | 'curious' | 'sleepy'

export type Look = {
  readonly kind: keyof typeof heads
  /** Of the coat, the main one first. */
  readonly colors: readonly string[]
  readonly pattern?: keyof typeof markings
  readonly ears?: keyof typeof ears
  readonly eyes?: string
  readonly collar?: string
  readonly isFluffy?: boolean
  readonly isBaby?: boolean
}

/** What a sketch of this animal calls its colors. */
function colorsOf(look: Look): Colors {
  const [fur = '#c9a27e', second = colorOf(`${fur}+45`, {}), third = second] = look.colors
  const marking = markings[look.pattern ?? 'plain']
  const colors = { fur, second, third, collar: look.collar ?? fur, eye: look.eyes ?? '#33263a' }
  const { muzzle, paw, tail } = marking
  return {
    ...colors,
    muzzle: colorOf(muzzle, colors),
    paw: colorOf(paw, colors),
    tail: colorOf(tail, colors),
  }
}

const eyePlaces = {
  dog: [46, -16, 15],
  cat: [56, -4, 20],
  rabbit: [58, -10, 17],
  guineaPig: [66, -14, 16],
} as const

const isDark = (color: string): boolean => Number.parseInt(color.slice(1, 3), 16) < 0x80

/** Around the origin. */
export function eye(size: number, mood: Mood, iris?: string): string {
  const closed = mood === 'happy' ? 'M-19 6Q0 -22 19 6' : mood === 'sleepy' ? 'M-18 -2Q0 17 18 -2' : undefined
  // The light line below shows it on dark fur.
  if (closed) return sketch(`glow:13/.25 ${closed}\nink:6.5 ${closed}`)
  const colored = `
    iris 0 0 ${size - 2.5} ${size * 1.02}
    ink 0 1 ${size * 0.5} ${size * 0.84}`
  const open = `
    ink 0 0 ${size} ${size * 1.14} ${iris === undefined ? '' : colored}
    white ${-size * 0.28} ${-size * 0.42} ${size * 0.34}
    white/.75 ${size * 0.32} ${size * 0.4} ${size * 0.16}`
  return group(mood === 'curious' ? 'scale(1.12)' : '', sketch(open, { iris: iris ?? '' }))
}

/** Below the nose, whose end is the origin. */
function mouth(mood: Mood, isDog: boolean): string {
  const smile = 'ink:4.5 M-26 3Q-13 17 0 1Q13 17 26 3'
  const open = 'M-22 8Q-12 14 0 4Q12 14 22 8C18 42 -18 42 -22 8Z'
  if (mood !== 'playful') return sketch(smile)
  const tongue = isDog
    ? sketch('#ee7f86 M-12 14C-15 62 15 62 12 14Z\n#d9626d:3.5 M0 20L0 36')
    : inside(open, sketch('#ee7f86 0 36 12 16'))
  return sketch(`#6b2b3a ${open}`) + tongue + sketch(smile)
}

const snouts = {
  dog: `
    *muzzle 0 52 58 43
    ink M-24 24C-24 10 24 10 24 24C24 40 8 48 0 48C-8 48 -24 40 -24 24Z
    white/.45 -6 21 9 4.5
    ink:4.5 M0 46L0 58`,
  other: `
    |*muzzle -23 46 30 24
    nose M-14 24Q0 17 14 24Q10 38 0 39Q-10 38 -14 24Z
    ink:4 M0 38L0 46
    |whisker:3/.6 M-60 44L-138 32M-60 54L-140 58M-58 64L-130 82`,
}

function head(look: Look, mood: Mood): string {
  const { kind, pattern, isFluffy } = look
  const colors = colorsOf(look)
  const { fur = '', second = '', third = '', tail = '' } = colors
  const shape = (isFluffy ? fluffyHeads : heads)[kind]
  const earType =
    look.ears ?? ({ dog: 'floppy', cat: 'cat', rabbit: 'upright', guineaPig: 'petal' } as const)[kind]
  const ear = (color: string) => sketch(ears[earType], { ear: color, inner: mix('#f0a3a0', color, 0.35) })
  const isPatched = pattern === 'patches'
  const bothEars = ear(isPatched ? second : tail) + group('scale(-1 1)', ear(isPatched ? third : tail))
  const [x, y, size] = eyePlaces[kind]
  const isBehind = earsBehind.includes(earType)
  const face = {
    ...colors,
    nose: pattern === 'points' ? '#4a3238' : '#e58585',
    whisker: mix(fur, '#ffffff', 0.75),
  }
  const tilt = mood === 'curious' ? 8 : mood === 'playful' ? -4 : 0
  return group(
    `rotate(${tilt})`,
    isBehind ? bothEars : '',
    sketch(`*fur ${shape}`, colors),
    inside(shape, sketch(markings[pattern ?? 'plain'].head, colors)),
    isDark(fur) ? '' : sketch(`|rose/.22 ${-x - 24} ${y + 44} 22 14`),
    isBehind ? '' : bothEars,
    sketch(kind === 'dog' ? snouts.dog : snouts.other, face),
    group(
      `translate(0 ${kind === 'dog' ? 56 : 44}) scale(${kind === 'dog' ? 1.1 : 0.85})`,
      mouth(mood, kind === 'dog'),
    ),
    kind === 'rabbit' && mood !== 'playful' ? sketch('white M-7 52L7 52L6 64Q0 67 -6 64Z') : '',
    group(`translate(${-x} ${y})`, eye(size, mood, look.eyes)),
    group(`translate(${x} ${y})`, eye(size, mood, look.eyes)),
  )
}

const collar = ({ collar }: Look): string =>
  collar === undefined
    ? ''
    : sketch('collar:17 M-68 84Q0 124 68 84\ngold 0 118 13\n#fff2c4 -3 115 4', { collar })

const foot = (x: number, y: number, width: number): string => `
  *paw ${x} ${y} ${width} 22
  paw-40:4 M${x - 11} ${y + 3}L${x - 11} ${y + 14}M${x + 11} ${y + 3}L${x + 11} ${y + 14}`

/** From the hip, which is the origin. */
function tail({ kind, pattern, isFluffy }: Look, colors: Colors): string {
  if (kind === 'guineaPig') return ''
  if (kind === 'rabbit') return sketch(`*tail+50 ${fluffy(30, 0, 40, 38, 9, 0.2)}`, colors)
  const width = isFluffy ? 56 : 33
  const rings = pattern === 'tabby' ? 'tail-42:11 M54 26L62 -4M100 -4L78 -24M108 -52L80 -50' : ''
  const end = pattern === 'bib' ? `second:${width} M95 -58C92 -68 88 -76 80 -84` : ''
  return sketch(`*tail:${width} M0 14C94 34 120 -34 80 -84\n${end}\n${rings}`, colors)
}

export function sitting(look: Look, mood: Mood): string {
  const colors = colorsOf(look)
  const shape = look.isFluffy ? fluffyTorso : torso
  const haunch = look.pattern === 'patches' ? 'second' : 'fur-6'
  const body = [
    group('translate(92 294)', tail(look, colors)),
    sketch(`*fur-6 -88 268 62 70\n*${haunch} 88 268 62 70\n*fur ${shape}`, colors),
    inside(shape, sketch(markings[look.pattern ?? 'plain'].body, colors)),
    sketch(
      `${foot(-104, 322, 44)}${foot(104, 322, 44)}
      |*fur M-66 190C-72 250 -70 300 -66 326L-12 326C-8 290 -8 240 -12 200Z
      ${foot(-39, 324, 36)}${foot(39, 324, 36)}`,
      colors,
    ),
    inside(shape, sketch('~shade/.42 0 96 104 52')),
  ]
  return group(look.isBaby ? 'translate(0 46) scale(.86)' : '', ...body) + collar(look) + head(look, mood)
}

export function lying(look: Look, mood: Mood): string {
  const colors = colorsOf(look)
  const shape = look.isFluffy ? fluffyBack : back
  const chest = look.pattern === 'bib' || look.pattern === 'tan' ? 'second 0 114 54 58' : ''
  return [
    group('translate(250 140)', tail(look, colors)),
    sketch(`*fur ${shape}`, colors),
    inside(shape, sketch(markings[look.pattern ?? 'plain'].back, colors)),
    sketch(`*fur-5 206 116 76 62\n${foot(214, 158, 52)}`, colors),
    inside(shape, sketch('~shade/.34 0 64 170 120')),
    sketch(`*fur 0 110 100 66\n${chest}`, colors),
    collar(look),
    sketch(foot(-60, 156, 50) + foot(48, 158, 50), colors),
    group(`translate(0 ${mood === 'sleepy' ? 14 : -4})`, head(look, mood)),
  ].join('')
}

/** Head and front paws, above an edge at the height of 100. */
export const peeking = (look: Look, mood: Mood): string =>
  sketch(`*fur 0 150 104 120`, colorsOf(look)) + collar(look) + head(look, mood)
export const pawsOnEdge = (look: Look): string =>
  sketch(foot(-82, 104, 38) + foot(82, 104, 38), colorsOf(look))
