const HALF = 0.5;
