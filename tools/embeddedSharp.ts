import { getAsset, getRawAsset } from 'node:sea'
import { compileFunction } from 'node:vm'

/** The assets of the executable that replace the native library of sharp. */
export const sharpAssets = { script: 'src/photos/sharp.js', wasm: 'src/photos/sharp.wasm' }

/** Variables that the script expects, for a thread. It starts no threads and loads no files itself. */
const threadVariables =
  "const require = process.getBuiltinModule, module = {}, __filename = '', __dirname = '';"

/**
 * Loads the WebAssembly build of sharp without files. A part of the executable, where it replaces the module of sharp that
 * loads the native library. See docs/decisions/0053-photos-in-the-executable.md.
 */
export function loadSharp(emnapi: object): unknown {
  const script = getAsset(sharpAssets.script, 'utf8')
  const module: { exports?: unknown } = {}
  const require = (name: string) =>
    name === '@emnapi/runtime' ? emnapi : process.getBuiltinModule(name as 'node:fs')
  // The script starts its threads from the value of `__filename`.
  const threadUrl = new URL(`data:text/javascript,${encodeURIComponent(threadVariables + script)}`)
  const variables = {
    Module: { wasmBinary: getRawAsset(sharpAssets.wasm) },
    module,
    require,
    __filename: threadUrl,
    __dirname: '',
  }
  compileFunction(script, Object.keys(variables))(...Object.values(variables))
  return module.exports
}
