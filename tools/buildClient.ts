/**
 * Builds the client to client/dist: ES modules with types, and one minified file for browsers. `npm pack` in client/
 * runs it.
 */
import { execFileSync } from 'node:child_process'
import { globSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { build } from 'vite'
import { writeClientTypes } from './apiTypes.ts'
import { root } from './project.ts'

const folder = `${root}client`
const tsc = fileURLToPath(new URL('bin/tsc', import.meta.resolve('typescript/package.json')))

rmSync(`${folder}/dist`, { recursive: true, force: true })
writeClientTypes()
execFileSync(process.execPath, [tsc, '-p', folder, '--noEmit', 'false'], { stdio: 'inherit' })
// The compiler changes the names of imported files in JavaScript only.
for (const file of globSync(`${folder}/dist/**/*.d.ts`))
  writeFileSync(file, readFileSync(file, 'utf8').replaceAll(/(from '\.[^']*)\.ts'/g, "$1.js'"))
await build({
  configFile: false,
  root: folder,
  logLevel: 'warn',
  build: {
    lib: { entry: 'dist/index.js', formats: ['es'], fileName: () => 'petstore-client.min.js' },
    emptyOutDir: false,
    target: 'es2022',
    // Vite keeps the white space and the annotations of ES libraries, which are for other bundlers.
    rolldownOptions: { output: { minify: true, comments: false } },
  },
})
