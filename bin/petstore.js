#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still say what is missing.
const versionMin = 24
if (Number(process.versions.node.split('.')[0]) < versionMin) {
  console.error(
    `Petstore needs Node ${versionMin} or newer, and this is ${process.version}. Run "npm ci" (without --omit=dev), which brings one along.`,
  )
  process.exit(1)
}
// What was compiled once is kept where temporary files are, so that the next start is quicker and smaller.
const { enableCompileCache } = await import('node:module')
enableCompileCache?.()
await import('../src/main.ts')
