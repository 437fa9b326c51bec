import { fluffy } from './sketch.ts'

/** The shapes and coat patterns of dogs, cats, rabbits and guinea pigs. */

export const heads = {
  dog: 'M-104 -6C-108 -86 -62 -116 0 -116C62 -116 108 -86 104 -6C102 54 66 106 0 106C-66 106 -102 54 -104 -6Z',
  cat: 'M-124 16C-126 -58 -70 -96 0 -96C70 -96 126 -58 124 16C120 70 62 100 0 100C-62 100 -120 70 -124 16Z',
  rabbit: 'M-98 14C-100 -62 -56 -100 0 -100C56 -100 100 -62 98 14C96 68 54 100 0 100C-54 100 -96 68 -98 14Z',
  guineaPig:
    'M-118 14C-118 -62 -66 -104 0 -104C66 -104 118 -62 118 14C118 70 62 98 0 98C-62 98 -118 70 -118 14Z',
}
export const fluffyHeads: Record<keyof typeof heads, string> = {
  dog: fluffy(0, -4, 112, 114, 15, 0.16),
  cat: fluffy(0, 4, 126, 98, 17, 0.14),
  rabbit: fluffy(0, 0, 102, 102, 15, 0.14),
  guineaPig: fluffy(0, 0, 120, 102, 15, 0.16),
}
export const torso =
  'M-64 52C-82 116 -126 186 -126 264C-126 324 -84 338 0 338C84 338 126 324 126 264C126 186 82 116 64 52Z'
export const back = 'M-120 150C-150 60 -60 -34 80 -36C210 -36 290 40 286 120C284 160 250 172 200 172L-90 172Z'
export const [fluffyTorso, fluffyBack] = [
  fluffy(0, 200, 124, 140, 17, 0.12),
  fluffy(70, 72, 206, 104, 21, 0.1),
]

/** The left ear. */
export const ears = {
  cat: `
    *ear-6 M-118 -14C-128 -70 -126 -124 -112 -146C-104 -156 -54 -116 -30 -82Z
    inner M-104 -44C-110 -80 -108 -110 -102 -120C-96 -122 -72 -102 -56 -82Z`,
  pointed: `
    *ear-6 M-98 -34C-116 -96 -114 -160 -98 -176C-88 -180 -46 -136 -22 -100Z
    inner M-88 -66C-98 -106 -98 -138 -92 -146C-86 -146 -62 -120 -48 -100Z`,
  upright: `
    *ear-6 M-52 -74C-96 -130 -116 -230 -92 -266C-64 -290 -22 -196 -14 -88Z
    inner M-52 -100C-80 -148 -94 -222 -82 -242C-64 -250 -40 -178 -34 -104Z`,
  folded: `
    *ear M-100 -52C-104 -104 -92 -146 -74 -150C-52 -150 -26 -126 -16 -104C-44 -112 -78 -92 -100 -52Z
    *ear-20 M-74 -150C-112 -144 -136 -96 -126 -56C-112 -44 -84 -66 -66 -98C-58 -114 -60 -140 -74 -150Z`,
  petal: `
    *ear-6 M-84 -78C-116 -104 -152 -86 -150 -50C-146 -22 -112 -24 -92 -44Z
    inner M-96 -70C-114 -82 -136 -72 -136 -52C-132 -40 -112 -42 -100 -52Z`,
  floppy: '*ear-8 M-54 -106C-104 -124 -158 -70 -152 18C-150 64 -118 78 -102 48C-92 20 -100 -22 -62 -78Z',
  lop: '*ear-6 M-52 -92C-110 -104 -160 -20 -150 66C-144 112 -106 114 -94 70C-86 20 -92 -30 -60 -74Z',
  curly: `*ear-8 ${fluffy(-112, 24, 44, 112, 11, 0.3)}`,
}
export const earsBehind: readonly string[] = ['cat', 'pointed', 'upright', 'petal']

/** Of the coat: on the head, on the body, and the colors of muzzle, paws and tail. */
export const markings = {
  plain: { head: '', body: 'fur+36 0 130 52 62', muzzle: 'fur+42', paw: 'fur', tail: 'fur', back: '' },
  bib: {
    head: 'second M-15 -120C-8 -60 -22 -10 -58 18C-96 56 -60 120 0 120C60 120 96 56 58 18C22 -10 8 -60 15 -120Z',
    body: 'second 0 126 60 74',
    ...{ muzzle: 'second', paw: 'second', tail: 'fur', back: '' },
  },
  tabby: {
    head: `
      |fur-42:11 M-12 -94L-12 -56M-36 -88L-32 -58
      |fur-42:10 M-128 6L-94 10M-124 38L-92 34
      fur-42:11 M0 -98L0 -66`,
    body: `
      fur+50 0 130 52 62
      |fur-42:12 M-130 190L-92 200M-132 232L-96 238M-112 152L-84 164`,
    back: 'fur-42:12 M130 -40L122 -4M170 -36L164 2M208 -24L202 14M242 0L234 34',
    ...{ muzzle: 'fur+60', paw: 'fur', tail: 'fur' },
  },
  patches: {
    head: `
      second M-150 -150L-18 -150C-10 -90 -14 -40 -30 6C-50 44 -100 40 -150 30Z
      third M150 -150L34 -150C36 -110 44 -66 66 -36C92 -20 120 -16 150 -20Z`,
    body: 'third M-150 90C-90 90 -56 120 -64 170C-72 214 -110 220 -150 210Z',
    back: 'second M120 -60L230 -60C236 10 200 40 160 30C120 20 110 -20 120 -60Z\nthird M250 0L310 0L310 120C270 110 250 60 250 0Z',
    ...{ muzzle: 'fur', paw: 'fur', tail: 'second' },
  },
  points: {
    head: 'second/.92 0 36 80 72',
    body: '',
    muzzle: 'second',
    paw: 'second',
    tail: 'second',
    back: '',
  },
  tan: {
    head: '|second -42 -50 15 11',
    body: 'second 0 126 52 66',
    ...{ muzzle: 'second', paw: 'second', tail: 'fur', back: '' },
  },
  spots: {
    head: `
      second -66 -80 20 15
      second -24 -98 11 9
      second 40 -84 16 13
      second 84 -46 13 17
      second -92 -22 11 14
      second 8 -60 8 7
      second -84 40 9 10
      second 80 34 11 9`,
    body: `
      second -44 110 15 12
      second 26 130 12 14
      second -8 172 13 11
      second -92 200 14 17
      second 84 190 17 13
      second 106 250 12 15
      second -110 262 11 12
      second 60 96 9 8`,
    back: `
      second 130 -10 15 12
      second 176 6 12 14
      second 222 -4 14 12
      second 152 40 9 10
      second 258 44 14 16
      second 200 44 9 8`,
    ...{ muzzle: 'fur', paw: 'fur', tail: 'fur' },
  },
}
