import { defineConfig } from 'vite'

/** Where `npm run dev:console` finds the API. */
const service = process.env.PETSTORE_SERVICE ?? 'http://127.0.0.1:8080'

export default defineConfig({
  base: '/console/',
  // Preact's JSX, without a plugin.
  oxc: { jsx: { runtime: 'automatic', importSource: 'preact' } },
  build: {
    outDir: 'dist',
    emptyOutDir: true,
    target: 'es2023',
    // The styles of a screen whose stylesheet could not be loaded would be missing until the next reload.
    cssCodeSplit: false,
    // A data: URL needs a weaker policy.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/v1': service, '/photos': service, '/docs': service, '/guides': service } },
})
