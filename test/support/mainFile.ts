import { fileURLToPath } from 'node:url'

/** The program: the bundle of a run (see programBundle.ts). A file that is run without test/run.ts uses the sources. */
export const mainFile =
  process.env.PETSTORE_TEST_PROGRAM ?? fileURLToPath(new URL('../../src/main.ts', import.meta.url))
