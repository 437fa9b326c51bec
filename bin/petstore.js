#!/usr/bin/env node
// Plain JavaScript, so that an old Node can run it and print the message.
import { existsSync } from 'node:fs'

const versionMin = 24
// A package contains JavaScript (dist/) instead of src/, see tools/buildJavaScript.ts.
const isCheckout = existsSync(new URL('../src/main.ts', import.meta.url))
if (Number(process.versions.node.split('.')[0]) < versionMin) {
  console.error(
    `Petstore requires Node ${versionMin} or newer, but ${process.execPath} is ${process.version}. ${
      isCheckout
        ? '"npm start" and "npx node bin/petstore.js" use the Node that "npm ci" (without --omit=dev) installs.'
        : 'Install a newer Node from https://nodejs.org, or use the executable, which needs no Node.'
    }`,
  )
  process.exit(1)
}
// The compile cache halves the CPU time of the next start. NODE_COMPILE_CACHE, which Node reads itself, takes precedence.
const { enableCompileCache } = await import('node:module')
const { compileCacheFolder } = await import('./compileCache.js')
const cacheFolder = compileCacheFolder(process.env, process.geteuid?.())
if (cacheFolder !== undefined) enableCompileCache?.(cacheFolder)
await import(isCheckout ? '../src/main.ts' : '../dist/main.js')
