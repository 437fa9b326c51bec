/** The systems whose exports are known, and the sources of their animals. */
export const presetNames = ['asm3', 'shelterluv', 'petpoint', 'rescuegroups', 'petfinder'] as const
export type PresetName = (typeof presetNames)[number]
