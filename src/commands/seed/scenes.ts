import { cloud, fir, flower, grass, hills, leaf, pick, repeat, sky, straw, tree } from './scenery.ts'
import { group, scatter, sketch } from './sketch.ts'

/** The places of the animals. The ground is at the height of 548. */

export type Scene = {
  /** In the description of the picture. */
  readonly where: string
  /** The tint is a color that differs between animals. */
  back(tint: string): string
  /** How far from the middle an animal sits. */
  readonly aside?: number
  /** In front of the animal. */
  front?(): string
}

export const scenes = {
  meadow: {
    where: 'in a meadow',
    aside: -60,
    back: (tint) =>
      sky('#bfe3f2', '#fdf3dc', 650, 110) +
      cloud(150, 120, 1) +
      cloud(420, 80, 0.7) +
      hills('#a9d3a0', '#8cc48a') +
      scatter(14, 5, [20, 780], [490, 580], (index) => flower(pick(index, tint, '#ffffff', '#f5b7b1'), 0.9)),
    front: () => grass(3),
  },
  garden: {
    where: 'in the garden',
    aside: -40,
    back: (tint) =>
      sketch('#d3ecdf>#f7f3d8 0 0 800 600 0') +
      scatter(16, 9, [0, 800], [40, 330], (index) =>
        sketch(`${pick(index, '#b4d9ad', '#cbe3b3', '#a3d0ad')}/.7 0 0 ${50 + (index % 4) * 16}`),
      ) +
      sketch('#a8d08d>#86bb7d 0 430 800 180 0') +
      repeat(9, 96, 'white>#eadfd2 M-16 440L-16 322L14 296L44 322L44 440Z') +
      sketch('#f2e9dd 0 356 800 20 0') +
      scatter(9, 21, [20, 780], [400, 440], (index) => flower(pick(index, tint, '#f7d774', '#e99bb0'), 1.2)),
    front: () => grass(8),
  },
  autumn: {
    where: 'among autumn leaves',
    aside: 30,
    back: () =>
      sky('#fbe3c0', '#fdf2dd', 170, 120) +
      tree(90, 390, 1.5, '#e7a257') +
      tree(690, 380, 1.7, '#d9774f') +
      tree(560, 410, 1, '#efc160') +
      tree(250, 415, 0.9, '#d98a4e') +
      sketch('#ddbf82>#c9a568 M-20 440Q200 420 420 436T820 430L820 620L-20 620Z') +
      scatter(30, 12, [0, 800], [460, 600], leaf),
    front: () => scatter(8, 40, [0, 250], [20, 320], leaf) + scatter(7, 44, [560, 800], [20, 320], leaf),
  },
  beach: {
    where: 'on the beach',
    aside: -70,
    back: () =>
      sky('#bfe6ee', '#fff0d6', 620, 130) +
      cloud(200, 110, 1) +
      sketch(`#7cc7d6>#a9dfe0 0 300 800 130 0
        white:5/.6 M-10 330Q60 320 130 330T270 330M430 352Q500 342 570 352T710 352
        #fbe6bd>#eccf9b M-20 420Q200 396 420 418T820 408L820 620L-20 620Z
        #f29d7e M120 524L127 541L146 543L131 555L136 574L120 563L104 574L109 555L94 543L113 541Z
        #f29d7e:12 M120 524L127 541L146 543L131 555L136 574L120 563L104 574L109 555L94 543L113 541Z`) +
      scatter(20, 7, [0, 800], [450, 600], () => sketch('#d9b682 0 0 3')),
  },
  snow: {
    where: 'in the snow',
    back: () =>
      sketch('#cfe3f1>#f3f0f5 0 0 800 600 0') +
      fir(60, 420, 1.5, '#6fa398') +
      fir(210, 440, 1.1, '#8fb9ab') +
      fir(640, 420, 1.5, '#6fa398') +
      fir(760, 440, 1.1, '#8fb9ab') +
      sketch('white>#dfe6f2 M-20 430Q180 386 400 420T820 404L820 620L-20 620Z'),
    front: () =>
      scatter(50, 17, [0, 800], [0, 580], (index) => sketch(`white/.8 0 0 ${3 + (index % 4) * 1.6}`)),
  },
  evening: {
    where: 'on a summer evening',
    aside: 80,
    back: () =>
      sketch('#5d5b93>#f6b99a 0 0 800 600 0') +
      scatter(26, 4, [0, 800], [10, 260], (index) => sketch(`#fff3cf/.8 0 0 ${1.6 + (index % 3)}`)) +
      sketch('~#fff1cf 160 110 120\n#fff1cf 160 110 44') +
      hills('#8a6f9e', '#6d6a97'),
  },
  room: {
    where: 'in the living room',
    back: (tint) =>
      sketch(
        `tint+62>tint+50 0 0 800 450 0
        white 70 60 190 220 10
        #bfe0f0>#e9f4e4 82 72 166 196 0
        #a9d3a0 M82 268L82 214Q120 196 150 226Q190 176 248 206L248 268Z
        white 160 72 10 196 0
        white 82 164 166 10 0
        #c99a6b 560 90 130 104 8
        #fff7ea 570 100 110 84 4
        tint+10 M584 174L616 126L640 156L652 142L668 174Z
        #dcb48a>#c99a6f 0 440 800 170 0
        #fff7ea 0 430 800 18 0
        tint-5 400 542 340 56
        tint+32 400 540 290 42`,
        { tint },
      ),
  },
  sofa: {
    where: 'on the sofa',
    back: (tint) =>
      sketch('#f9e8d4>#f3d8bd 0 0 800 600 0') +
      repeat(7, 130, 'white/.45 10 0 26 600 0') +
      sketch(
        `*tint 60 150 680 350 60
        *tint+12 88 172 304 260 44
        *tint+12 408 172 304 260 44
        *tint-8 4 290 126 340 56
        *tint-8 670 290 126 340 56
        *tint+6 60 466 680 180 40`,
        { tint },
      ),
  },
  window: {
    where: 'at the window',
    back: (tint) =>
      sketch(`#f6e9da 0 0 800 600 0
        white 120 30 560 470 16
        #bfe3f2>#fdeccf 142 52 516 430 0
        ~#fff6d6 540 150 110`) +
      cloud(280, 140, 0.9) +
      sketch(
        `#a9d3a0 M142 400C240 340 330 380 420 372C520 364 580 320 658 350L658 482L142 482Z
        white 392 52 16 430 0
        white 142 230 516 14 0
        tint+25>tint+5 M40 0L220 0C210 160 180 300 100 510L40 510Z
        tint+25>tint+5 M760 0L580 0C590 160 620 300 700 510L760 510Z
        white 0 494 800 40 8
        #ead3ba>#dfc3a5 0 530 800 80 0`,
        { tint },
      ),
  },
  studio: {
    where: 'in the studio',
    back: (tint) =>
      sketch(
        `tint+68>tint+48 0 0 800 600 0
        tint+32 M-20 520Q400 470 820 520L820 620L-20 620Z`,
        { tint },
      ) +
      scatter(22, 8, [20, 780], [30, 470], (index) =>
        sketch(`${pick(index, 'tint+20', '#f7d774', 'white')} 0 0 ${6 + (index % 3) * 4}`, { tint }),
      ) +
      sketch('tint+82 400 300 268', { tint }),
  },
  hay: {
    where: 'in the hay',
    back: () =>
      sketch('#a97850 0 0 800 600 0') +
      repeat(6, 138, '#c99a6d>#b58459 -10 0 132 460 8') +
      sketch(`~#fff1cf 620 60 260
        #f3d489>#dfb565 M-20 430Q100 396 220 424T480 416T820 420L820 620L-20 620Z`) +
      scatter(60, 14, [-20, 800], [430, 590], straw),
    front: () => scatter(34, 24, [-20, 790], [568, 600], straw),
  },
  pasture: {
    where: 'in the pasture',
    aside: 60,
    back: () =>
      sky('#c8e6ee', '#fdf1d8', 140, 120) +
      cloud(560, 110, 1.1) +
      hills('#b9d7a0') +
      tree(700, 370, 0.9, '#86b87c') +
      tree(90, 380, 0.7, '#9cc58a') +
      sketch(
        '#9cc884>#84b973 M-20 440Q400 410 820 436L820 620L-20 620Z\n#c99f73 0 340 800 18 8\n#c99f73 0 400 800 18 8',
      ) +
      repeat(4, 230, '*#b98a5f 40 310 24 170 8'),
    front: () => grass(6),
  },
  branch: {
    where: 'on a branch',
    back: (tint) =>
      sketch('#d9efe0>#f6f3cf 0 0 800 600 0') +
      scatter(24, 6, [0, 800], [0, 600], (index) =>
        sketch(
          `${pick(index, '#bfe0b4', '#f6edc0', '#a9d6b6', 'tint+50')}/.55 0 0 ${30 + (index % 5) * 16}`,
          { tint },
        ),
      ) +
      sketch(
        '*#a07a5c M-20 512C160 490 320 514 480 502S720 496 820 480L820 510C700 528 600 526 480 532S140 520 -20 544Z',
      ) +
      [
        [60, 496, -30],
        [170, 530, 20],
        [590, 528, 25],
        [670, 484, -35],
        [720, 520, 10],
      ]
        .map(([x, y, angle]) =>
          group(
            `translate(${x} ${y}) rotate(${angle})`,
            sketch('*leaf M0 0C20 -30 60 -30 84 0C60 26 20 26 0 0Z\nleaf-20:3 M6 0L70 0'),
          ),
        )
        .join(''),
  },
  desert: {
    where: 'on warm sand',
    back: () =>
      sky('#fbe0c4', '#fdf3df', 640, 120) +
      hills('#e9bf91') +
      [
        [110, 440, 1.3],
        [700, 450, 1],
      ]
        .map(([x, y, size]) =>
          group(
            `translate(${x} ${y}) scale(${size})`,
            sketch(
              '#86b183:24 M-20 -60Q-60 -60 -58 -104M20 -40Q58 -40 56 -90\n*#8fb98a -22 -150 44 170 22\n#f29d9d 0 -152 12',
            ),
          ),
        )
        .join('') +
      sketch(`#f3d2a1>#e3b987 M-20 440Q200 410 420 436T820 424L820 620L-20 620Z
        *#c9a58c 700 556 90 30
        *#c9a58c 70 570 70 24`),
  },
} satisfies Record<string, Scene>
