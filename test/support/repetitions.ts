/** Whether this run repeats races and random scenarios as often as `npm run test:thorough` does. */
const isThorough = process.env.PETSTORE_TEST_THOROUGH === 'true'
const shareOfShortRun = 1 / 3

/** How often to repeat a race or a random scenario: all of these times, or a third of them in `npm test`. */
export const repetitions = (thorough: number): number =>
  isThorough ? thorough : Math.ceil(thorough * shareOfShortRun)
