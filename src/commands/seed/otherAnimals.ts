import { eye, type Mood } from './mammals.ts'
import { group, inside, mix, sketch } from './sketch.ts'

/** Birds, horses and reptiles. The origin is the middle of the head, or of the shell. */

export type OtherLook = {
  readonly kind: keyof typeof otherAnimals
  readonly colors: readonly string[]
  /** Of the feathers on the head. */
  readonly crest?: string
  readonly cheek?: string
  readonly mane?: string
  /** A halter. */
  readonly collar?: string
}

const eyes = (x: number, y: number, size: number, mood: Mood): string =>
  [-x, x].map((each) => group(`translate(${each} ${y}) scale(${size / 17})`, eye(17, mood))).join('')

const birdBody =
  'M0 -128C66 -128 92 -78 88 -24C86 10 112 60 104 130C96 200 48 236 0 236C-48 236 -96 200 -104 130C-112 60 -86 10 -88 -24C-92 -78 -66 -128 0 -128Z'

/** From the front, on a perch at the height of 236. */
function bird({ colors, crest, cheek }: OtherLook, mood: Mood): string {
  const [main = '', head = main, wing = mix(main, '#2b5a66', 0.3)] = colors
  const names = {
    main,
    head,
    wing,
    crest: crest ?? '',
    cheek: cheek ?? head,
    beak: crest ? '#b9b2ba' : '#f0a24c',
  }
  const plume = `
    *crest M-22 -110C-60 -160 -50 -190 -36 -204C-24 -170 -10 -140 4 -118Z
    *crest M4 -118C20 -160 48 -180 62 -182C50 -150 40 -130 26 -112Z
    *crest M-16 -112C-24 -170 0 -206 18 -218C20 -180 18 -140 20 -112Z`
  return [
    sketch('*wing-15 M-30 200L-40 380Q0 400 40 380L30 200Z\nwing-35:4 M0 250L0 384', names),
    crest ? sketch(plume, names) : '',
    sketch(`*main ${birdBody}`, names),
    inside(
      birdBody,
      sketch('head M-120 -160L120 -160L120 -20Q60 22 0 16Q-60 22 -120 -20Z\nmain+35/.7 0 130 62 92', names),
    ),
    sketch(
      `|*wing M-86 0C-128 40 -132 120 -92 196C-70 180 -48 120 -52 60C-54 30 -66 6 -86 0Z
      |wing-30:5 M-94 52Q-78 74 -60 56M-100 96Q-82 118 -64 100M-98 138Q-84 156 -68 142M-74 78Q-66 86 -58 78
      |cheek -54 -28 19
      *beak M-22 -52C-24 -74 24 -74 22 -52C20 -30 10 -12 0 -4C-10 -12 -20 -30 -22 -52Z
      |beak-50 -8 -56 3
      |#8d6f63:11 M-36 226L-36 246M-24 228L-22 246M-48 226L-50 246`,
      names,
    ),
    mood === 'playful' ? sketch('#c2565c M-9 -10Q0 14 9 -10Q0 -2 -9 -10Z') : '',
    eyes(46, -68, 15, mood),
  ].join('')
}

const horseFace =
  'M-62 -120C-30 -140 30 -140 62 -120C84 -80 76 -20 62 30C58 60 74 90 70 116C64 156 -64 156 -70 116C-74 90 -58 60 -62 30C-76 -20 -84 -80 -62 -120Z'
const leg = `
  *fur M-26 200L-21 372L21 372L26 200Z
  sock M-21 322L-22 372L22 372L21 322Z
  #5a4a4e M-22 366L-28 398L28 398L22 366Z`

/** From the front, on the ground at the height of 398. */
function horse({ colors, mane = '', collar }: OtherLook, mood: Mood): string {
  const [fur = '', sock = fur] = colors
  const names = {
    fur,
    sock,
    mane,
    muzzle: mix(fur, '#f3d9c4', 0.45),
    inner: mix('#f0a3a0', fur, 0.5),
    collar: collar ?? fur,
  }
  const legs = (x: number, color: string) =>
    [-x, x].map((each) => group(`translate(${each} 0)`, sketch(leg, { ...names, fur: color }))).join('')
  return [
    sketch('*mane M96 150C170 170 176 270 140 340C128 300 132 250 96 220Z', names),
    group('translate(0 -14)', legs(88, mix(fur, '#43284f', 0.25))),
    sketch(
      '*fur M-70 -40C-120 60 -136 120 -130 190C-124 260 -70 286 0 286C70 286 124 260 130 190C136 120 120 60 70 -40Z',
      names,
    ),
    legs(50, fur),
    sketch(
      `~shade/.4 0 130 110 76
      *mane M50 -120C110 -90 122 -10 108 70C100 110 84 130 66 136C76 80 72 0 40 -60Z
      |*fur M-66 -112C-84 -150 -76 -190 -62 -196C-44 -186 -28 -156 -30 -128Z
      |inner M-62 -126C-70 -152 -66 -172 -60 -178C-50 -168 -42 -150 -42 -134Z
      *fur ${horseFace}`,
      names,
    ),
    inside(
      horseFace,
      sketch(
        'sock M0 -104C22 -80 14 -20 20 40C24 70 -24 70 -20 40C-14 -20 -22 -80 0 -104Z\nmuzzle 0 118 84 56',
        names,
      ),
    ),
    sketch(
      `|muzzle-60 -30 104 10 13
      ink:5 ${mood === 'calm' ? 'M-26 134Q0 144 26 134' : 'M-34 128Q0 154 34 128'}
      collar:10 M-66 52Q0 74 66 52M-72 -62Q-56 0 -66 52M72 -62Q56 0 66 52
      |gold -65 54 9
      |rose/.25 -50 24 16 11
      *mane M-34 -140C-10 -176 40 -170 46 -132C52 -96 34 -60 14 -40C18 -64 12 -80 0 -92C0 -74 -8 -62 -18 -54C-14 -80 -30 -104 -34 -140Z`,
      names,
    ),
    eyes(54, -44, 15, mood),
  ].join('')
}

const scute =
  '*shell+28 M-74 0L-40 -50L40 -50L74 0L40 50L-40 50Z\nshell-30:7 M-74 0L-40 -50L40 -50L74 0L40 50L-40 50Z\nshell+50/.6 0 -5 30 20'
const shellPath = 'M-170 60C-170 -70 -86 -140 30 -140C146 -140 226 -70 226 60Q28 110 -170 60Z'

/** From the side, on the ground at the height of 146. */
function tortoise({ colors }: OtherLook, mood: Mood): string {
  const [skin = '', shell = skin] = colors
  const names = { skin, shell }
  const scutes = [
    [28, -66],
    [-94, -16],
    [150, -16],
    [28, 46],
    [-176, 50],
    [232, 50],
  ] as const
  return [
    sketch(
      `*skin-10 M214 62Q262 66 270 92Q240 98 206 84Z
      *skin-20 M-110 40L-128 122Q-96 140 -62 122L-50 50ZM110 50L116 122Q150 140 184 120L176 40Z
      *skin M-140 70C-190 70 -214 20 -226 -10C-196 -40 -150 10 -120 20Z
      *shell ${shellPath}`,
      names,
    ),
    inside(shellPath, ...scutes.map(([x, y]) => group(`translate(${x} ${y})`, sketch(scute, names)))),
    sketch(
      `*shell-18 M-184 46Q28 100 240 46Q246 84 200 88L-146 88Q-190 84 -184 46Z
      *skin M-66 70L-84 134Q-52 152 -16 134L-10 76ZM70 76L74 134Q108 152 142 134L132 70Z
      skin-30:4 M-66 132L-66 142M-46 136L-46 146M92 136L92 146M112 134L112 144
      *skin -240 -50 78 68
      rose/.4 -216 -30 20 12
      ink:5 ${mood === 'sleepy' ? 'M-304 -26Q-280 -16 -258 -24' : 'M-306 -34Q-280 -2 -246 -26'}
      skin-50 -302 -56 3`,
      names,
    ),
    group('translate(-264 -68)', eye(17, mood)),
  ].join('')
}

const geckoBody = 'M-104 60C-150 130 -120 236 0 244C90 250 150 240 168 214C150 150 60 120 20 60Z'

/** On the ground at the height of 266. */
function gecko({ colors }: OtherLook, mood: Mood): string {
  const [skin = '', spot = skin] = colors
  const names = { skin, spot }
  return [
    sketch(
      `*skin:36 M120 222C220 220 240 160 330 166C380 170 372 120 336 124
      spot:11 M206 188L220 216M252 170L268 196M300 152L308 180M352 144L368 156
      skin-14:26 M-70 190L-120 236M-120 236L-150 236M-120 236L-132 252M90 220L80 256M80 256L54 262M80 256L96 268
      *skin ${geckoBody}`,
      names,
    ),
    inside(
      geckoBody,
      sketch(
        'skin+45 -60 180 54 80\nspot 10 130 9\nspot 50 160 8\nspot 22 176 6\nspot 84 190 9\nspot 60 214 7\nspot 120 214 8\nspot -10 160 6\nspot 14 216 8',
        names,
      ),
    ),
    sketch(
      `skin-6:26 M-10 212L-30 254M-30 254L-58 260M-30 254L-16 268
      *skin M-40 -78C50 -82 92 -28 84 26C76 84 0 104 -50 102C-104 100 -162 84 -170 34C-176 -24 -120 -76 -40 -78Z
      skin+40/.7 -84 62 66 30
      spot -20 -54 8
      spot 14 -34 6
      spot 44 -6 8
      spot -50 -62 5
      spot 24 8 6
      spot 54 28 6
      spot -84 -56 6
      rose/.3 4 42 18 11
      rose/.3 -144 34 14 10
      ink:5 ${mood === 'sleepy' ? 'M-150 52Q-90 70 -30 54' : 'M-146 48Q-92 88 -26 50'}`,
      names,
    ),
    group('translate(-64 -6)', eyes(54, 0, 22, mood)),
  ].join('')
}

export const otherAnimals = { bird, horse, tortoise, gecko }
