#!/usr/bin/env node
// Plain JavaScript, so that an old Node can run it and print the message.
const versionMin = 24
if (Number(process.versions.node.split('.')[0]) < versionMin) {
  console.error(
    `Petstore requires Node ${versionMin} or newer, but ${process.execPath} is ${process.version}. In a checkout, "npm start" and "npx node bin/petstore.js" use the Node that "npm ci" installs. Otherwise install a newer one: https://nodejs.org`,
  )
  process.exit(1)
}
// The compile cache halves the CPU time of the next start. NODE_COMPILE_CACHE, which Node reads itself, takes precedence.
const { enableCompileCache } = await import('node:module')
const { compileCacheFolder } = await import('./compileCache.js')
const cacheFolder = compileCacheFolder(process.env, process.geteuid?.())
if (cacheFolder !== undefined) enableCompileCache?.(cacheFolder)
await import('../src/main.ts')
