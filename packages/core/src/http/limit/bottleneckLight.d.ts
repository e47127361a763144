/** Bottleneck without its cluster in Redis: a public entry of the package, which declares no types for it. */
declare module 'bottleneck/light.js' {
  import Bottleneck from 'bottleneck';
  // eslint-disable-next-line no-restricted-syntax -- that module has no other export
  export default Bottleneck;
}
