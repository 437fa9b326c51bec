import { type Look, lying, type Mood, pawsOnEdge, peeking, sitting } from './mammals.ts'
import { type OtherLook, otherAnimals } from './otherAnimals.ts'
import { type Scene, scenes } from './scenes.ts'
import { drawing, group, sketch } from './sketch.ts'

export type AnimalLook = (Look | OtherLook) & { readonly tint: string; readonly scale: number }
type Pose = 'sit' | 'lie' | 'close' | 'basket' | 'stand'
type Prop = keyof typeof props
type Place = keyof typeof scenes
/** Such as `sit meadow playful ball`. */
export type Shot = `${Pose} ${Place} ${Mood}` | `${Pose} ${Place} ${Mood} ${Prop | 'friend'}`

/** Beside the animal. */
const props = {
  ball: `
    *tint 660 530 34
    white:7/.7 M632 514Q660 536 690 514M640 556Q660 540 682 556`,
  bone: `
    shade/.15 160 566 62 10
    *snow 128 538 18
    *snow 128 560 18
    *snow 196 538 18
    *snow 196 560 18
    *snow 126 538 72 22 8`,
  yarn: `
    *tint 156 534 38
    tint-25:4 M124 520Q156 546 190 520M122 540Q156 562 190 542M140 500Q160 530 152 572M170 500Q182 530 172 570
    tint:6 M184 560Q230 580 250 562T310 574`,
  carrot: `
    *#ef9550 M110 574C120 540 150 520 196 508C200 550 170 576 126 584Z
    #d97f3f:4 M140 548L156 556M160 530L174 540
    *leaf M194 510C200 480 224 474 236 484C226 500 212 508 194 510ZM196 512C222 496 244 504 248 518C228 526 212 520 196 512Z`,
  bowl: `
    shade/.15 660 572 70 10
    *tint-10 M590 520L730 520L708 574L612 574Z
    *tint+20 660 520 70 16
    #a9745a 660 520 54 10`,
  apple: `
    *#dd6b5e 146 540 34
    *leaf M150 508C156 486 182 484 190 492C180 508 166 512 150 508Z
    #7a5844:5 M146 510L148 494
    white/.4 134 526 8 11`,
}

const basket = `
  *wood M180 420L620 420L580 620L220 620Z
  wood-20:6 M188 456L612 456M196 496L604 496M204 536L596 536M212 576L588 576
  wood-14:5 M230 430L246 600M290 430L300 600M350 430L354 600M400 430L400 600M450 430L446 600M510 430L500 600M570 430L554 600
  *wood+16 160 396 480 44 22
  wood-20:4/.7 M186 418L614 418`

const groundShadow = (x: number, width: number): string =>
  sketch(`~shade/.34 ${x} 550 ${width} ${width * 0.14}`)

/** The scale, and the place of the head or shell, in a picture of the whole animal and in one from close by. */
const places = {
  bird: { whole: [1.02, 0, 266], close: [1.7, 0, 350], shadow: 0 },
  horse: { whole: [0.9, 0, 192], close: [1.5, 0, 300], shadow: 220 },
  tortoise: { whole: [1.16, 30, 378], close: [1.9, 300, 420], shadow: 340 },
  gecko: { whole: [1.12, -60, 250], close: [1.7, 80, 300], shadow: 340 },
} as const

const placed = (scale: number, x: number, y: number, ...parts: readonly string[]): string =>
  group(`translate(${x} ${y}) scale(${scale})`, ...parts)

/** At a horizontal place. */
function animal(look: AnimalLook, pose: Pose, mood: Mood, x: number): string {
  const { scale } = look
  if (!isMammal(look)) {
    const { whole, close, shadow } = places[look.kind]
    const [size, dx, y] = pose === 'close' ? close : whole
    const drawn = placed(size, x + dx, y, otherAnimals[look.kind](look, mood))
    return (pose === 'close' || shadow === 0 ? '' : groundShadow(x, shadow)) + drawn
  }
  const hasLongEars = look.kind === 'rabbit' && look.ears === 'upright'
  switch (pose) {
    case 'close':
      return hasLongEars
        ? placed(1.3, x, 390, sitting(look, mood))
        : placed(1.55, x, 320, sitting(look, mood))
    case 'basket':
      return placed(1.14 * scale, x, 306, peeking(look, mood))
    case 'lie': {
      const size = 1.26 * scale
      return groundShadow(x, 330) + placed(size, x - 70 * size, 548 - 172 * size, lying(look, mood))
    }
    default: {
      const size = hasLongEars ? 0.9 * scale : scale
      return groundShadow(x, 240 * size) + placed(size, x, 548 - 342 * size, sitting(look, mood))
    }
  }
}

const isMammal = (look: AnimalLook): look is AnimalLook & Look => !(look.kind in otherAnimals)

type Placed = { readonly look: AnimalLook; readonly mood: Mood; readonly x: number }

/** The SVG of a photo. With a friend, both are in it. */
export function drawPhoto(look: AnimalLook, shot: Shot, friend?: AnimalLook): string {
  const [pose, place, mood, prop] = shot.split(' ') as [Pose, Place, Mood, Prop | 'friend' | undefined]
  const { tint } = look
  const scene: Scene = scenes[place]
  const smaller = pose === 'basket' ? 0.86 : 0.9
  const distance = pose === 'basket' ? 112 : 146
  const animals: readonly Placed[] = friend
    ? [
        { look: { ...friend, scale: friend.scale * smaller }, mood: 'calm', x: 400 + distance },
        { look: { ...look, scale: look.scale * smaller }, mood, x: 400 - distance },
      ]
    : [{ look, mood, x: 400 + (pose === 'sit' && prop === undefined ? (scene.aside ?? 0) : 0) }]
  const basketFront = [
    sketch(basket),
    ...animals.map(({ look, x }) =>
      isMammal(look) ? placed(1.14 * look.scale, x, 306, pawsOnEdge(look)) : '',
    ),
  ]
  return drawing(
    scene.back(tint),
    ...animals.map(({ look, mood, x }) => animal(look, pose, mood, x)),
    ...(pose === 'basket' ? basketFront : []),
    prop === undefined || prop === 'friend' ? '' : sketch(props[prop], { tint }),
    pose === 'close' ? '' : (scene.front?.() ?? ''),
  )
}

export const placeOf = (shot: Shot): string => scenes[shot.split(' ')[1] as Place].where
