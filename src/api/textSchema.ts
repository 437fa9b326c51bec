import * as z from 'zod'
import { notBlankPattern } from './validation.ts'

/** Length in code points, as JSON Schema counts it. */
const lengthOf = (text: string): number => [...text].length

export const boundedText = (lengthMax: number, description: string) =>
  z
    .string()
    .refine((text) => lengthOf(text) <= lengthMax, `must have at most ${lengthMax} characters`)
    .meta({ maxLength: lengthMax, description })

/** Text that is not empty and not only white space. */
export const nonBlankText = (lengthMax: number, description: string) =>
  z
    .string()
    .refine(
      (text) => text.trim() !== '' && lengthOf(text) <= lengthMax,
      `must be 1 to ${lengthMax} characters and not blank`,
    )
    .meta({ minLength: 1, maxLength: lengthMax, pattern: notBlankPattern, description })
