/**
 * Builds the console to console/dist: `node tools/buildConsole.js`. With "if-possible", an installation without
 * development dependencies keeps what it has. JavaScript, because `npm ci --omit=dev` runs it on any Node version.
 */
import { fileURLToPath } from 'node:url'

const root = fileURLToPath(new URL('../', import.meta.url))
const isOptional = process.argv[2] === 'if-possible'

const vite = await import('vite').catch((error) => {
  if (isOptional && error.code === 'ERR_MODULE_NOT_FOUND') return undefined
  throw error
})
if (vite) {
  const { writeClientTypes } = await import('./apiTypes.ts')
  writeClientTypes()
  await vite.build({ root: `${root}console`, logLevel: 'warn' })
}
