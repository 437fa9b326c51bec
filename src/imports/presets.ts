import type { Preset } from './preset.ts'
import type { PresetName } from './presetNames.ts'
import { asm3 } from './presets/asm3.ts'
import { petfinder } from './presets/petfinder.ts'
import { petpoint } from './presets/petpoint.ts'
import { rescuegroups } from './presets/rescuegroups.ts'
import { shelterluv } from './presets/shelterluv.ts'
import { headingKey } from './values/simplify.ts'

export const presets: Readonly<Record<PresetName, Preset>> = {
  asm3,
  shelterluv,
  petpoint,
  rescuegroups,
  petfinder,
}

/** The preset of a file, by its headings. */
export function recognizePreset(headings: readonly string[]): Preset | undefined {
  const keys = new Set(headings.map(headingKey))
  return Object.values(presets).find(({ recognizedBy }) =>
    recognizedBy.some((list) => list.every((heading) => keys.has(headingKey(heading)))),
  )
}

/** Whether a preset never reads the column. */
export const isExcluded = ({ excluded }: Preset, heading: string): boolean =>
  excluded.some((pattern) => {
    const parts = pattern
      .toLowerCase()
      .split('*')
      .map((part) => part.replaceAll(/[^\p{L}\p{N} ]/gu, '\\$&'))
    return new RegExp(`^${parts.join('.*')}$`, 's').test(heading.toLowerCase())
  })
