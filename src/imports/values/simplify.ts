import { fold, separators } from '../../listings/words.ts'
import { irregularPlurals, kindWords } from './words.ts'

/** The words of a text, without differences of case, accents and punctuation. */
export const simplify = (text: string): string =>
  fold(text.replaceAll(/[✓✔☑]/g, ' yes ').replaceAll(/[✗✘☒]/g, ' no '))
    .split(separators)
    .filter((word) => word !== '')
    .join(' ')

/** How headings are compared. "Date of Birth" is "dateofbirth", and "Animal #" is "animalnumber". */
export const headingKey = (heading: string): string =>
  simplify(heading.replaceAll('#', ' number ')).replaceAll(' ', '')

/** Whether a text is the id of a category, and not its name. */
export const isId = (text: string): boolean => /^-?\d+$/.test(text)

/** Values by their words. */
export const valuesByWord = (words: Readonly<Record<string, string>>): ReadonlyMap<string, string> =>
  new Map(Object.entries(words).flatMap(([value, list]) => list.split(', ').map((word) => [word, value])))

/** How names of kinds are compared: without the ending of the plural. */
export function stem(text: string): string {
  const words = simplify(text).split(' ')
  const last = words.pop() ?? ''
  const one = irregularPlurals.get(last) ?? last.replace(/ies$/, 'y').replace(/(?<!s)s$/, '')
  // "Tortoises" and "fishes" both end with "es".
  return [...words, one.replace(/(?<!e)e$/, '')].join(' ')
}

const kinds = new Map([...valuesByWord(kindWords)].map(([word, kind]) => [stem(word), kind]))

/** The usual name of a kind of animal: "dog" for "Canines". Undefined for other words. */
export const usualKind = (text: string): string | undefined => kinds.get(stem(text))
