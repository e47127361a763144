/** Bottleneck without its cluster in Redis: a public entry of the package, which declares no types for it. */
declare module 'bottleneck/light.js' {
  export { default } from 'bottleneck';
}
